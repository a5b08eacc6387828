package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"deployer/runs"
)

// confirmation has the flags that confirm a run which destroys data: with the name of the
// cluster, so that no other one is meant.
type confirmation struct {
	yes     bool
	cluster string
}

func (c *confirmation) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&c.yes, "yes", "y", false, "do not prompt for confirmation; needs --cluster")
	f.StringVar(&c.cluster, "cluster", "", "with --yes: `name` of the cluster, which must be that of the inventory")
}

// confirm asks a question that is answered with the name of the cluster, or compares the
// name with --cluster. A dry run needs no confirmation.
func (c confirmation) confirm(e env, r *runs.Run, dryRun bool, question string) error {
	name := r.Project.Cluster.Name
	switch {
	case dryRun:
		return nil
	case c.yes && c.cluster == name:
		return nil
	case c.yes || !isTerminal(e.stdin):
		return &exitError{exitRefused, fmt.Errorf("nothing was changed: confirm with --yes --cluster %s", name)}
	case c.cluster != "" && c.cluster != name:
		return &exitError{exitRefused, errors.New("nothing was changed: the cluster of the inventory is " + name)}
	}
	return requireText(e, question+" Type the name of the cluster to confirm:", name)
}
