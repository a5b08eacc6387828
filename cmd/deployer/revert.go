package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"deployer/engine/view"
	"deployer/runs"
)

// revertOptions are the flags of revert.
type revertOptions struct {
	runOptions
	// of says what the run was, when there is no log of it.
	of                 string
	force, yes, anyway bool
}

func newRevertCommand(e env) *cobra.Command {
	var o revertOptions
	cmd := &cobra.Command{
		Use:     "revert RUN",
		GroupID: "runs",
		Short:   "Put back what a run has changed",
		Long: `Revert puts files with their access, links, directories, units, packages, users
and kernel settings back to what they were before a run, the last step first, in
the batches of the run, one by one where it went one by one, and holds hosts at
the gates that held them then. What was running follows its files. Gates see the
variables of now: where one waits for what the run brought, set them back first,
in the inventory or with -e.

It first asks the hosts and shows what will be put back, and what cannot be:
commands that ran, objects of Kubernetes, packages in versions that nobody
offers any more. When somebody has changed something since the run it is refused,
unless --force is given.

A revert is a run itself: it keeps what it replaces, goes on with the same
command when it was interrupted, and can be reverted. The beginning of a run's
id is enough; deployer runs list shows them.

Hosts keep what they need for the last runs that changed something there. On
another machine than that of the run, say with --of what it was: install, or
the playbook, or unknown, which puts hosts back one by one and without gates.`,
		Example: `  deployer revert 20261121-1430 --check -v
  deployer revert 20261121-143012.482 --limit m1 --yes`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: ofFirst(completeRuns(endedRun)),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := o.options()
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("inventory") {
				given.Inventory = "" // that of the run
			}
			back, err := newController(e).Revert(args[0], runs.RevertOptions{Options: given, OriginalRun: o.of, Force: o.force, AllowChangedPlaybook: o.anyway})
			if err != nil {
				return err
			}
			return putBack(cmd.Context(), e, back, o)
		},
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	f := cmd.Flags()
	f.BoolVarP(&o.Check, "check", "C", false, "change nothing, show what would be put back")
	f.BoolVarP(&o.diff, "diff", "D", false, "show how files differ")
	f.StringVarP(&o.Limit, "limit", "l", "", "only these hosts, as a `pattern`")
	_ = cmd.RegisterFlagCompletionFunc("limit", completePattern) // it fails only for a flag that is not there
	f.BoolVar(&o.force, "force", false, "put back also what somebody has changed since")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.anyway, "anyway", false, "go on although the playbook has changed since")
	f.StringVar(&o.of, "of", "", "`what` the run was, when this machine has no log of it: install, a playbook, or unknown")
	variablesFlag(cmd, &o.runOptions, "that were not written down, as for run")
	return cmd
}

// putBack asks the hosts, shows what there is to do, and does it.
func putBack(ctx context.Context, e env, back *runs.Revert, o revertOptions) error {
	found, err := watched(ctx, back, o.asking(e.stdout, back.Hosts()), back.Preview)
	if err != nil {
		return err
	}
	if found.Report.Interrupted {
		return silent(exitInterrupted)
	}
	if o.output == "json" && o.Check {
		return errors.Join(printJSON(e.stdout, foundJSON(found)), found.RefuseDrift())
	}
	if o.output == "text" {
		printFound(e.stdout, back, found, o)
	}
	if err := found.RefuseDrift(); err != nil || o.Check {
		return err
	}
	switch {
	case !found.HasWork() && found.Incomplete():
		return silent(exitPartial)
	case !found.HasWork():
		return nil
	}
	if err := o.confirm(e); err != nil {
		return err
	}
	r, err := back.Run(found)
	if err != nil {
		return err
	}
	stays := &runs.Unrestored{}
	report, err := watched(ctx, r, o.display(e.stdout, r.Hosts).with(stays), r.Do)
	if report == nil {
		return err
	}
	left := stays.Of(report)
	if o.output == "text" {
		printLeft(e.stdout, back.Invocation, left, report)
	}
	if err := worse(err, finish(e, r, report, o.runOptions)); err != nil {
		return err
	}
	if len(left) > 0 || found.Incomplete() {
		return silent(exitPartial)
	}
	return nil
}

// asking is the display on which hosts are asked.
func (o revertOptions) asking(w io.Writer, hosts []string) display {
	if o.output != "text" {
		return display{open: func() view.Renderer { return silence{} }}
	}
	look := o.runOptions
	look.Check = true
	return look.answering(w, hosts)
}

// confirm asks on a terminal, and wants --yes elsewhere.
func (o revertOptions) confirm(e env) error { return agreed(e, o.yes, "Put this back?") }
