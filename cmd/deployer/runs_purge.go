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
		Short: "Remove backups of secrets from hosts",
		Long: `Purge removes the backups that secret steps have made from all hosts, so that no
copy of a password or key that is no longer valid remains. With --all it removes all
backups. With RUN, a whole id, it removes the backups of that run, without RUN those
of all runs.

Purged backups cannot be restored: deployer revert lists each as irreversible and
restores the rest. Without this command hosts remove backups of secrets at the first
run that starts 7 days after the last step of their run.

Failed and unreachable hosts do not stop the others. The exit code is 0 when all
hosts succeeded, 3 when some did.`,
		Example: `  deployer runs purge --check
  deployer runs purge --yes
  deployer runs purge 20261121-143012.482 --all --limit 'web*'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: firstArg(completeRuns(endedRun)),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			what := runs.PurgeOptions{Options: given}
			if what.All = all; len(args) == 1 {
				what.Purge.Run = args[0]
			}
			r, err := newRunner(e).Purge(what)
			if err != nil {
				return err
			}
			if !o.Check {
				if err := requireYes(e, yes, fmt.Sprintf("Remove the backups on %d hosts permanently?", len(r.Hosts))); err != nil {
					return err
				}
			}
			return execute(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	f := cmd.Flags()
	f.BoolVarP(&o.Check, "check", "C", false, "remove nothing, show which backups would be removed")
	f.StringVarP(&o.Limit, "limit", "l", "", "limit the purge to the hosts of a `pattern`")
	_ = cmd.RegisterFlagCompletionFunc("limit", completePattern) // it fails only for an unknown flag
	f.BoolVar(&all, "all", false, "remove the backups of all steps, not only of secret steps")
	f.BoolVarP(&yes, "yes", "y", false, "do not prompt for confirmation")
	return cmd
}
