package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"deployer/runs"
)

func newRunsPurge(e env) *cobra.Command {
	var o runOptions
	var all, yes bool
	cmd := &cobra.Command{
		Use:   "purge [RUN]",
		Short: "Remove the secrets that hosts keep for reverts",
		Long: `Purge removes from all hosts the contents and states that secret steps have
replaced, so that a password or key that is no longer valid lies nowhere. With
--all it removes everything that hosts keep for reverts. RUN, with its whole id,
means what that run has replaced; without it all runs are meant.

What is removed can never be put back: deployer revert says so of each thing, and
still puts back the rest. Without this command hosts remove secrets by
themselves at the first run that begins 7 days after the last step of theirs.

A host that fails or cannot be reached stops no other. The exit code is 0 when
all did it, 3 when some did.`,
		Example: `  deployer runs purge --check
  deployer runs purge --yes
  deployer runs purge 20261121-143012.482 --all --limit 'web*'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: ofFirst(completeRuns(endedRun)),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := o.options()
			if err != nil {
				return err
			}
			what := runs.PurgeOptions{Options: given}
			if what.All = all; len(args) == 1 {
				what.Purge.Run = args[0]
			}
			r, err := newController(e).Purge(what)
			if err != nil {
				return err
			}
			if !o.Check {
				if err := agreed(e, yes, fmt.Sprintf("Remove for good what %d hosts keep for reverts?", len(r.Hosts))); err != nil {
					return err
				}
			}
			return carryOut(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	f := cmd.Flags()
	f.BoolVarP(&o.Check, "check", "C", false, "remove nothing, show what would be removed")
	f.StringVarP(&o.Limit, "limit", "l", "", "only these hosts, as a `pattern`")
	_ = cmd.RegisterFlagCompletionFunc("limit", completePattern) // it fails only for a flag that is not there
	f.BoolVar(&all, "all", false, "everything that is kept, not only what secret steps have replaced")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
