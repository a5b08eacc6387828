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

// loadAny reads an inventory for playbooks of the user's own. beside is the directory
// of the playbook, whose variables count as well; empty for none.
func loadAny(path, beside string) (*project.Project, error) {
	o := projectOptions()
	o.Playbook = beside
	return project.Load(path, o)
}

func projectOptions() project.Options {
	return project.Options{Open: ownKeys().Open, Agents: agents.Embedded{}}
}
