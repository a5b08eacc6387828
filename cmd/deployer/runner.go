package main

import (
	"deployer/cmd/deployer/agents"
	"deployer/project"
	"deployer/runs"
)

// newRunner returns the runner of this program, with its terminal for prompts.
func newRunner(e env) runs.Runner {
	return runs.Runner{
		Options:       projectOptions(),
		Version:       version,
		PromptSecret:  prompt{e.stdin, e.stderr}.secret,
		PromptVisible: prompt{e.stdin, e.stderr}.open,
		Confirm:       confirmTask(e.stdin, e.stderr),
		OnFetch:       artifactProgress(e.stderr),
		NextRunID:     givenRunID,
	}
}

func projectOptions() project.Options {
	return project.Options{Open: userKeys().Open, Agents: agents.Embedded{}, Keepers: agents.Embedded{}}
}

// loadCluster reads an inventory and resolves its cluster.
func loadCluster(path string) (*project.Project, error) {
	return project.LoadCluster(path, projectOptions())
}
