package main

import (
	"github.com/spf13/cobra"

	"deployer/cmd/deployer/agents"
	"deployer/project"
)

// defaultInventory is looked for in the working directory.
const defaultInventory = "inventory.yaml"

// inventoryFlag adds -i to a verb.
func inventoryFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVarP(path, "inventory", "i", defaultInventory, "inventory file")
}

// loadCluster reads an inventory that describes a cluster.
func loadCluster(path string) (*project.Project, error) {
	return project.LoadCluster(path, projectOptions())
}

// loadAny reads an inventory for playbooks of the user's own.
func loadAny(path string) (*project.Project, error) { return project.Load(path, projectOptions()) }

func projectOptions() project.Options {
	return project.Options{Open: ownKeys().Open, Agents: agents.Embedded{}}
}
