package main

import (
	"github.com/spf13/cobra"

	"deployer/operations"
	"deployer/runs"
)

// revertOptions are the flags of revert.
type revertOptions struct {
	runOptions
	// originalRun is the kind of the run when this machine has no log of it.
	originalRun                      string
	force, yes, allowChangedPlaybook bool
	from                             historyOptions
}

func newRevertCommand(e env) *cobra.Command {
	var o revertOptions
	cmd := &cobra.Command{
		Use:     "revert RUN",
		GroupID: "runs",
		Short:   "Restore the state before a run",
		Long: `Revert restores files with their permissions, links, directories, units, packages,
users and kernel settings to their state before a run. It goes from the last step to
the first, with the batches, throttles and gates of the run, and restarts services
whose files it restores. Gates use the present variables: where a gate waits for
something that the run introduced, reset its variables first, in the inventory or
with -e.

Revert first queries the hosts and shows what it will restore and what is
irreversible: commands, objects of Kubernetes, packages in versions that no
repository offers any more. It refuses when something has changed since the run,
unless --force is set.

A revert is a run itself: it backs up what it replaces, continues with the same
command after an interrupt, and can be reverted. Upgrades are left to deployer
rollback, which refuses what must not be lowered. The beginning of a run's id is
enough; deployer runs list shows the ids.

Hosts keep the backups of the last runs that changed something. On another machine
than the one of the run, revert reads the record that hosts of the inventory (-i) keep
of the run, with --from-hosts or when this machine has no such run; name the playbook
with --playbook, except for playbooks of deployer's own. When no host has a record
either, name the run's kind with --original-run: install, the playbook, or unknown,
which reverts hosts one by one and without gates.`,
		Example: `  deployer revert 20261121-1430 --check -v
  deployer revert 20261121-143012.482 --limit m1 --yes`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: firstArg(completeRuns(endedRun)),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("inventory") {
				given.Inventory = "" // the inventory of the run
			}
			o.from.Inventory, o.from.Prompt = o.Inventory, o.Prompt
			runner, err := o.from.openFor(cmd.Context(), e, o.from.wantedRun(cmd, args))
			if err != nil {
				return err
			}
			defer runner.History.Close()
			back, err := runner.Revert(args[0], runs.RevertOptions{Options: given, OriginalRun: o.originalRun, Force: o.force, AllowChangedPlaybook: o.allowChangedPlaybook})
			if err != nil {
				return err
			}
			for _, r := range back.Entries() {
				printRecord(e, "reverting", r, r.Claims(given.Extra))
			}
			return newConsole(e, o.runOptions, o.yes).operator(runner).Revert(cmd.Context(), back, operations.RevertOptions{Check: o.Check})
		},
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	f := cmd.Flags()
	f.BoolVarP(&o.Check, "check", "C", false, "change nothing, show what would be restored")
	f.BoolVarP(&o.diff, "diff", "D", false, "show diffs of files")
	f.StringVarP(&o.Limit, "limit", "l", "", "limit the revert to the hosts of a `pattern`")
	_ = cmd.RegisterFlagCompletionFunc("limit", completePattern) // it fails only for an unknown flag
	f.BoolVar(&o.force, "force", false, "also restore resources that have changed since the run")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not prompt for confirmation")
	f.BoolVar(&o.allowChangedPlaybook, "allow-changed-playbook", false, "revert although the playbook has changed since the run")
	o.from.fromHostsFlag(cmd)
	f.StringVar(&o.Playbook, "playbook", "", "`file` on this machine with the playbook of a run of another machine")
	f.StringVar(&o.originalRun, "original-run", "", "`kind` of the run when this machine has no log of it: install, a playbook, or unknown")
	variablesFlag(cmd, &o.runOptions, "whose values the log omits: NAME=VALUE, @FILE or {mapping}")
	return cmd
}
