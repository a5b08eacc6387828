package main

import (
	"deployer/cmd/deployer/agents"
	"deployer/project"
	"deployer/runs"
)

// newController is this program as runs need it.
func newController(e env) runs.Runner {
	return runs.Runner{
		Options:       projectOptions(),
		Version:       version,
		PromptSecret:  prompt{e.stdin, e.stderr}.secret,
		PromptVisible: prompt{e.stdin, e.stderr}.open,
		Confirm:       confirm(e.stdin, e.stderr),
		OnFetch:       artifactProgress(e.stderr),
	}
}

func projectOptions() project.Options {
	return project.Options{Open: ownKeys().Open, Agents: agents.Embedded{}}
}

// loadCluster reads an inventory that describes a cluster.
func loadCluster(path string) (*project.Project, error) {
	return project.LoadCluster(path, projectOptions())
}
