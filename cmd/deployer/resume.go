package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/engine/journal"
	"deployer/operations"
	"deployer/runs"
	"deployer/shellquote"
)

func newResumeCommand(e env) *cobra.Command {
	var o runOptions
	var from historyOptions
	var allowChanged, yes bool
	var step ciStep
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
contacts the whole cluster, as its parts depend on each other. A rollback is continued
through all runs of its upgrade.

Without RUN it resumes the last run of the inventory that did not complete. It
refuses when the inventory, the playbook or deployer itself has changed since, unless
--allow-changed-playbook is set.

A run of another machine is resumed from the record that hosts keep of it, with
--from-hosts or when this machine has no such run. It needs the inventory, the same
playbook (--playbook, except for playbooks of deployer's own), and access to the hosts.
Hosts are not trusted: variables, tags, limits and other flags that only their record
names, and verbs other than install and run, must be confirmed (--yes). The plan of an
interrupted apply is shown and confirmed, as apply does.`,
		Example: `  deployer resume
  deployer resume -i inventory.yaml --from-hosts
  deployer resume 20261121-143012.482 -i inventory.yaml --playbook site.yaml --yes`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: firstArg(completeRuns(unfinishedRun)),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			from.Inventory, from.Prompt = o.Inventory, o.Prompt
			runner, err := from.openFor(cmd.Context(), e, from.Unfinished(strings.Join(args, "")))
			if err != nil {
				return err
			}
			defer runner.History.Close()
			if len(args) == 0 {
				parts, err := nextRollback(cmd.Context(), e, runner, given, step, yes)
				if err != nil {
					return err
				}
				if err := step.requireUpgrades(parts, reviewCommand(args, o.Inventory)); err != nil {
					return err
				}
				if len(parts) > 0 {
					return resumeRevert(cmd.Context(), e, runner, parts, o)
				}
			}
			record, err := runner.Unfinished(strings.Join(args, ""), given)
			if err != nil {
				return err
			}
			if err := step.require(cmd.Context(), e, strings.Join(args, ""), record, given); err != nil {
				return err
			}
			if err := confirmRecord(e, record, given, yes); err != nil {
				return err
			}
			if record.Header.Invocation.Verb == journal.VerbRevert {
				parts, err := runner.ResumeRollback(record.Header, given)
				if err != nil {
					return err
				}
				if err := step.requireUpgrades(parts, reviewCommand(args, o.Inventory)); err != nil {
					return err
				}
				if err := confirmReverted(e, record.Header, parts, yes); err != nil {
					return err
				}
				return resumeRevert(cmd.Context(), e, runner, parts, o)
			}
			r, err := runner.Resume(record, given, allowChanged)
			if err != nil {
				return printDrift(e, err)
			}
			if err := confirmPlan(e, r, o, runner.Estimate, yes); err != nil {
				return err
			}
			if err := execute(cmd.Context(), e, r, o); err != nil || o.Check {
				return err
			}
			if r.Verb == journal.VerbCertsRequests && o.output == "text" {
				return printRequests(e, r.Project.Cluster.ExternalAuthorities.Requests)
			}
			return removeFetchedSnapshot(r)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVarP(&o.Check, "check", "C", false, "change nothing, show the remaining changes")
	from.fromHostsFlag(cmd)
	cmd.Flags().StringVar(&o.Playbook, "playbook", "", "`file` on this machine with the playbook of a run of another machine")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not prompt for confirmation of settings and plans that only the record of a host has")
	cmd.Flags().BoolVar(&allowChanged, "allow-changed-playbook", false, "continue although files have changed since the run")
	step.flag(cmd)
	variablesFlag(cmd, &o, "whose values the log omits: NAME=VALUE, @FILE or {mapping}")
	return cmd
}

// resumeRevert continues a revert, or the rollback of an upgrade, which was confirmed.
func resumeRevert(ctx context.Context, e env, runner runs.Runner, parts []*runs.Revert, o runOptions) error {
	operator, with := newConsole(e, o, true).operator(runner), operations.RevertOptions{Check: o.Check}
	if parts[0].Invocation.Verb != journal.VerbUpgrade {
		return operator.Revert(ctx, parts[0], with)
	}
	_, err := operator.Rollback(ctx, parts, o.Inventory, with)
	return err
}

// nextRollback returns the reverts of the runs that are left of an upgrade, when a rollback
// was interrupted between two of them; none otherwise.
func nextRollback(ctx context.Context, e env, runner runs.Runner, given runs.Options, step ciStep, yes bool) ([]*runs.Revert, error) {
	last, next, err := runner.NextRollback(given)
	if next == "" || err != nil {
		return nil, err
	}
	if err := step.require(ctx, e, "", last, given); err != nil {
		return nil, err
	}
	if err := confirmRecord(e, last, given, yes); err != nil {
		return nil, err
	}
	parts, err := runner.ContinueRollback(last.Header, next, given)
	if err != nil {
		return nil, err
	}
	return parts, confirmReverted(e, last.Header, parts, yes)
}

// reviewCommand returns the command with which a person sees and confirms what the records of
// hosts claim about the run.
func reviewCommand(args []string, inventory string) string {
	return strings.Join(slices.Concat([]string{"deployer resume"}, args, []string{"-i", shellquote.Word(inventory), "--from-hosts"}), " ")
}
