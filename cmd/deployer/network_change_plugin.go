package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"deployer/cluster"
)

func newNetworkChangePlugin(e env) *cobra.Command {
	var o runOptions
	var yes bool
	drain := 15 * time.Minute
	cmd := &cobra.Command{
		Use:   "change-plugin",
		Short: "Replace the network plugin bgp of a cluster in use by Calico",
		Long: `Change-plugin gives the nodes of a cluster with network.plugin: bgp the plugin calico of
the inventory, one node after the other: first one minion, then one master, then as many
at a time as rollout: permits. Each node is drained; the pods that a drain leaves, those
of DaemonSets, start again on their node. A node is uncordoned when its pods reach those
of other nodes, Services and DNS; otherwise it gets its former network back and the
change ends.

Pods of nodes with the former and with the new plugin reach each other all the time, and a
node keeps its range of pod addresses. Calico must have encapsulation: none. All pods
start again once; none keeps its address.

The same command continues an interrupted change. Until it is complete, other commands
that install components refuse the cluster. There is no way back to bgp.`,
		Example: `  deployer network change-plugin --check
  deployer network change-plugin`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			if drain <= 0 {
				return usageError(errors.New("--drain-timeout must be more than 0"))
			}
			given.Extra = map[string]any{"plugin_drain_timeout": drain.String()}
			r, err := newRunner(e).ChangePlugin(given)
			if err != nil {
				return err
			}
			c := r.Project.Cluster
			if c.Network.Plugin != cluster.PluginCalico {
				return usageError(errors.New("network.plugin of the inventory is " + c.Network.Plugin + ": write the plugin that the cluster gets, calico"))
			}
			if !o.Check {
				question := fmt.Sprintf("Drain all nodes of the cluster %s, one after the other, and start all their pods again with Calico?", c.Name)
				if err := requireYes(e, yes, question); err != nil {
					return err
				}
			}
			return execute(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	f := cmd.Flags()
	f.DurationVar(&drain, "drain-timeout", drain, "maximum time for the drain of a node; then the node stays as it is, and the run ends")
	f.BoolVarP(&yes, "yes", "y", false, "do not prompt for confirmation")
	f.BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	return cmd
}
