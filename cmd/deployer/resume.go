package main

import (
	"strings"

	"github.com/spf13/cobra"

	"deployer/runs"
)

func newResumeCommand(e env) *cobra.Command {
	var o runOptions
	var allowChanged bool
	cmd := &cobra.Command{
		Use:     "resume [RUN]",
		GroupID: "runs",
		Short:   "Continue a run that did not complete",
		Long: `Resume repeats a run that was killed, interrupted or stopped, with the same
playbook, hosts, tags and variables. Every step checks the present state first, so
work that is done is not repeated. Tasks of command, shell and script have no check:
on hosts that did not complete the run they run again, the completed ones and the
interrupted one, unless creates or removes shows that nothing is left to do. For an
interrupted one, on_resume: fail or on_resume: skip changes this. When the run
completed without some hosts, resume contacts only these hosts; for install it
contacts the whole cluster, as its parts depend on each other.

Without RUN it resumes the last run of the inventory that did not complete. It
refuses when the inventory, the playbook or deployer itself has changed since, unless
--allow-changed-playbook is set.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: firstArg(completeRuns(unfinishedRun)),
		RunE: func(cmd *cobra.Command, args []string) error {
			record, err := runs.Unfinished(strings.Join(args, ""), o.Inventory)
			if err != nil {
				return err
			}
			given, err := o.resolve()
			if err != nil {
				return err
			}
			if record.Header.Invocation.Verb == "revert" {
				back, err := newRunner(e).ResumeRevert(record.Header, given)
				if err != nil {
					return err
				}
				return revertRun(cmd.Context(), e, back, revertOptions{runOptions: o, yes: true})
			}
			r, err := newRunner(e).Resume(record, given, allowChanged)
			if err != nil {
				return printDrift(e, err)
			}
			return execute(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVarP(&o.Check, "check", "C", false, "change nothing, show what is left to do")
	cmd.Flags().BoolVar(&allowChanged, "allow-changed-playbook", false, "continue although files have changed since the run")
	variablesFlag(cmd, &o, "whose values the log omits: NAME=VALUE, @FILE or {mapping}")
	return cmd
}
