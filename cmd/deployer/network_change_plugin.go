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
	var yes, dropPolicies bool
	drain := 15 * time.Minute
	cmd := &cobra.Command{
		Use:   "change-plugin",
		Short: "Replace the network plugin of a cluster in use: bgp by Calico, or Calico by bgp",
		Long: `Change-plugin gives the nodes of a cluster in use the network plugin of the inventory,
one node after the other: first one minion, then one master, then as many at a time as
rollout: permits. Each node is drained; the pods that a drain leaves, those of DaemonSets,
start again on their node. A node is uncordoned when its pods reach those of other nodes,
Services and DNS; otherwise it gets its former network back and the change ends.

Pods of nodes with the former and with the new plugin reach each other all the time, and a
node keeps its range of pod addresses. Calico must have encapsulation: none. All pods
start again once; none keeps its address.

The plugin bgp enforces no policies. Where the cluster has some, or objects of Calico that
deployer has not written, the change from Calico needs --drop-policies: NetworkPolicies
stay without effect, and all objects of Calico are deleted at the end.

The same command continues an interrupted change. Until it is complete, other commands
that install components refuse the cluster.`,
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
			given.Extra = map[string]any{"plugin_drain_timeout": drain.String(), "plugin_drop_policies": dropPolicies}
			r, err := newRunner(e).ChangePlugin(given)
			if err != nil {
				return err
			}
			c := r.Project.Cluster
			if c.Network.Plugin == cluster.PluginNone {
				return usageError(errors.New("network.plugin of the inventory is none: write the plugin that the cluster gets, bgp or calico"))
			}
			if !o.Check {
				question := fmt.Sprintf("Drain all nodes of the cluster %s, one after the other, and start all their pods again with the network plugin %s?", c.Name, c.Network.Plugin)
				if dropPolicies && c.Network.Plugin == cluster.PluginBGP {
					question += " No policy is enforced any more, and all objects of Calico are deleted."
				}
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
	f.BoolVar(&dropPolicies, "drop-policies", false, "from Calico to bgp: accept that no policy is enforced any more, and that objects of Calico are deleted")
	f.BoolVarP(&yes, "yes", "y", false, "do not prompt for confirmation")
	f.BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	return cmd
}
