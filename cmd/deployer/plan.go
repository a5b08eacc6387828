package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"deployer/engine/plan"
	"deployer/engine/view"
	"deployer/operations"
	"deployer/runs"
	"deployer/runs/history"
	"deployer/shellquote"
)

// planOptions are the flags of plan.
type planOptions struct {
	runOptions
	out string
}

func newPlanCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "plan",
		GroupID: "runs",
		Short:   "Show what a run would change, and store it for apply",
		Long: `Plan checks the hosts as the run would and changes nothing. It shows the changes, one
entry for all hosts with the same changes and each diff once, the services that would
be restarted, the number of hosts in parallel, and an estimate of the duration from
the logs of past runs. With -o it writes the plan to a file; deployer apply executes
that plan and nothing else.`,
		Example: `  deployer plan run site.yaml -i inventory.yaml -o plan.json
  deployer plan install -o plan.json && deployer apply plan.json`,
	}, newPlanInstall(e), newPlanRun(e))
}

func newPlanInstall(e env) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Show what deployer install would change",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return makePlan(cmd.Context(), e, runs.Runner.Install, o)
		},
	}
	planFlags(cmd, &o)
	return cmd
}

func newPlanRun(e env) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "run PLAYBOOK",
		Short: "Show what deployer run would change",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Playbook = args[0]
			return makePlan(cmd.Context(), e, runs.Runner.Playbook, o)
		},
	}
	planFlags(cmd, &o)
	selectFlags(cmd, &o.runOptions)
	return cmd
}

func planFlags(cmd *cobra.Command, o *planOptions) {
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write the plan to this `file`; - writes it to standard output instead of the text")
	f.CountVarP(&o.verbose, "verbose", "v", "show all groups of hosts")
	forksFlag(cmd, &o.runOptions, "forks of the inventory, or 50")
}

// makePlan checks the hosts, prints the plan and writes it to the file of -o.
func makePlan(ctx context.Context, e env, prepare func(runs.Runner, runs.Options) (*runs.Run, error), o planOptions) error {
	given, err := o.resolve()
	if err != nil {
		return err
	}
	given.Check = true
	r, err := prepare(newRunner(e), given)
	if err != nil {
		return err
	}
	found, err := runWithDisplay(ctx, r, o.checkDisplay(e.stderr, r.TargetHosts()), r.Plan)
	if err != nil {
		return err
	}
	if found.Plan == nil {
		view.Summary(e.stderr, "plan of "+r.Program.Name, found.Report, "")
		return operations.Outcome(found.Report)
	}
	if o.out == "-" {
		err = writePlanTo(e.stdout, found.Plan)
	} else {
		showPlan(e.stdout, r, found.Plan, o.verbose > 0, o.estimator(ctx, e))
		err = writePlan(e.stdout, o.out, found.Plan)
	}
	if err != nil {
		return err
	}
	return operations.Outcome(found.Report)
}

// estimator returns an estimator by the logs of this machine, or else by the records
// of hosts. estimator contacts hosts only when no password must be entered again.
func (o planOptions) estimator(ctx context.Context, e env) estimator {
	return func(p *plan.Plan, parallelism int) (time.Duration, int, bool) {
		runner := newRunner(e)
		if took, past, ok := runner.Estimate(p, parallelism); ok || len(p.Changes) == 0 || o.Prompt.Login || o.Prompt.Become {
			return took, past, ok
		}
		whole := func(all []*history.Entry) (ids []string) {
			for _, r := range runs.PastRuns(all, p.Invocation) {
				ids = append(ids, r.Header.Run)
			}
			return ids
		}
		known, err := runner.FetchHistory(ctx, runs.FetchOptions{Inventory: o.Inventory, Few: true, Whole: whole})
		if err != nil {
			return 0, 0, false // an error does not matter, as the plan exists
		}
		defer known.Close()
		runner.History = known
		return runner.Estimate(p, parallelism)
	}
}

// checkDisplay returns a display of progress on a terminal, and of failures only
// elsewhere.
func (o planOptions) checkDisplay(w io.Writer, hosts []string) display {
	check := o.runOptions
	check.Check, check.Step = true, false
	return display{open: func() view.Renderer { return failuresOnly{check.renderer(w, hosts), false} }}
}

func writePlan(w io.Writer, path string, p *plan.Plan) error {
	if path == "" {
		return nil
	}
	var b strings.Builder
	if err := writePlanTo(&b, p); err != nil {
		return err
	}
	// Diffs may contain confidential text.
	if err := writePrivate(path, []byte(b.String())); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	_, err := fmt.Fprintf(w, "written to %s; to execute exactly this plan:\n  deployer apply %s\n", path, shellquote.Word(path))
	return err
}

func writePlanTo(w io.Writer, p *plan.Plan) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(p)
}
