package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// resetOptions are the flags of reset.
type resetOptions struct {
	runOptions
	confirmation
	wipe bool
}

func newResetCommand(e env) *cobra.Command {
	var o resetOptions
	cmd := &cobra.Command{
		Use:     "reset",
		GroupID: "cluster",
		Short:   "Remove the cluster from all its hosts",
		Long: `Reset removes the cluster: services, containers, units, binaries, configuration,
rules, routes and mounts are removed from every host of the inventory that has a role.
Pods are not drained. Packages, users and swap settings of the hosts stay.

Data of etcd, the keys of the cluster and container images stay too, and install brings
the same cluster back from them. With --wipe they are removed, and the cluster is lost.

It asks for the name of the cluster. Hosts that cannot be reached are left out; the
summary names them. Run the same command again when they answer.`,
		Example: `  deployer reset
  deployer reset --wipe --yes --cluster prod`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			given.Extra = map[string]any{"wipe": o.wipe}
			r, err := newRunner(e).Reset(given)
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Remove the cluster %s from %d hosts?", r.Project.Cluster.Name, len(r.Hosts))
			if err := o.confirm(e, r, o.Check, question); err != nil {
				return err
			}
			if err := execute(cmd.Context(), e, r, o.runOptions); err != nil || o.Check || o.output != "text" {
				return err
			}
			if !o.wipe {
				fmt.Fprintln(e.stdout, "\nData of etcd, the keys of the cluster and container images are still on the hosts; deployer reset --wipe removes them.")
			}
			return nil
		},
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	f := cmd.Flags()
	f.BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	o.flags(cmd)
	f.BoolVar(&o.wipe, "wipe", false, "also delete etcd's data, the keys of the cluster, container images and logs of pods")
	return cmd
}
