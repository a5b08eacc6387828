package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"deployer/runs"
)

func newNodeCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "node",
		GroupID: "cluster",
		Short:   "Mark nodes on which somebody works",
	}, newNodeMaintenance(e))
}

// maxMaintenance is the longest time of a mark: a forgotten one must not hide a kubelet that is gone.
const maxMaintenance = 24 * time.Hour

func newNodeMaintenance(e env) *cobra.Command {
	var o runOptions
	var during time.Duration
	var reason string
	var end bool
	cmd := &cobra.Command{
		Use:   "maintenance HOST...",
		Short: "Keep the pods of nodes while their kubelets are away",
		Long: `Maintenance marks nodes on which somebody works. Kubernetes moves the pods of a node whose
kubelet has been silent for some minutes, although they may run well. While the mark
holds and the host answers, the keeper renews the Lease of the node for its kubelet, so
that its pods stay. A host that does not answer gets no help: when it dies, its pods are
moved as ever. The mark ends after the time of --for, or with --end; it is annotation
deployer/maintenance of the Node, with who set it, and a label of the same name.

HOST is a pattern: names, ranges n[1:3], globs, groups.`,
		Example: `  deployer node maintenance n17 --for 30m --reason "new containerd"
  deployer node maintenance n17 --end`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case end && during > 0:
				return usageError(errors.New("--end removes the mark, and --for sets one: give one of the two"))
			case !end && (during <= 0 || during > maxMaintenance):
				return usageError(fmt.Errorf("--for is %s: want a time up to %s, such as 30m", during, maxMaintenance))
			}
			return executeKeeper(cmd, e, o, func(given runs.Options) (*runs.Run, error) {
				return newRunner(e).NodeMaintenance(given, args, during, reason)
			})
		},
	}
	runFlags(cmd, &o)
	f := cmd.Flags()
	f.DurationVar(&during, "for", 0, "time after which the mark ends, up to 24h")
	f.BoolVar(&end, "end", false, "remove the mark")
	f.StringVar(&reason, "reason", "", "reason, for those who find the mark")
	return cmd
}
