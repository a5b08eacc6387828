package main

import "github.com/spf13/cobra"

func newScaleUpCommand(e env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:     "scale-up HOST...",
		GroupID: "cluster",
		Short:   "Add hosts of the inventory to the cluster",
		Long: `Scale-up installs hosts that the inventory names and the cluster does not have yet:
masters, minions, etcd members, proxies. HOST is a pattern: names, ranges n[1:3],
globs, groups.

Other hosts are touched only where they depend on the new ones: BGP sessions, backends
of API proxies, the etcd members that API servers use. An etcd member joins as a
learner and votes when it has caught up, one member at a time. A node is cordoned
before its kubelet registers, and takes pods when the tests of its functions have
passed. Certificate authorities are never created.

Run the same command again after an interrupt or a kill: it continues.`,
		Example: `  deployer scale-up n41
  deployer scale-up 'm[2:3]'`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			r, err := newRunner(e).ScaleUp(given, args)
			if err != nil {
				return err
			}
			return execute(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	return cmd
}
