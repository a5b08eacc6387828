package main

import (
	"strings"

	"github.com/spf13/cobra"

	"deployer/runs"
)

func newResumeCommand(e env) *cobra.Command {
	var o runOptions
	var anyway bool
	cmd := &cobra.Command{
		Use:     "resume [RUN]",
		GroupID: "runs",
		Short:   "Go on with a run that did not come to its end",
		Long: `Resume asks for the same again as a run did that was killed, interrupted or
stopped: the same playbook, hosts, tags and variables. Every step looks again at
what is there, so what is done is not done twice. Commands, shell lines and
scripts cannot look: on hosts that had not come to the end they run again, those
that had ended and the one that was interrupted, unless creates or removes says
that nothing is left to do. For one that was interrupted, on_resume: fail or
on_resume: skip says otherwise. Of a run that left hosts out, only these are
tried again (for install the whole cluster, as its parts depend
on each other).

Without RUN it is the last run of the inventory that is not finished. It is
refused when the inventory, the playbook or deployer itself has changed since,
unless --anyway is given.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: ofFirst(completeRuns(unfinishedRun)),
		RunE: func(cmd *cobra.Command, args []string) error {
			record, err := runs.Unfinished(strings.Join(args, ""), o.Inventory)
			if err != nil {
				return err
			}
			given, err := o.options()
			if err != nil {
				return err
			}
			if record.Header.Invocation.Verb == "revert" {
				back, err := newController(e).ResumeRevert(record.Header, given)
				if err != nil {
					return err
				}
				return putBack(cmd.Context(), e, back, revertOptions{runOptions: o, yes: true})
			}
			r, err := newController(e).Resume(record, given, anyway)
			if err != nil {
				return told(e, err)
			}
			return carryOut(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVarP(&o.Check, "check", "C", false, "change nothing, show what is left to be done")
	cmd.Flags().BoolVar(&anyway, "anyway", false, "go on although files have changed since")
	variablesFlag(cmd, &o, "that were not written down, as for run")
	return cmd
}
