package main

import (
	"context"
	"encoding/json"
	"fmt"

	"deployer/engine/view"
	"deployer/operations"
	"deployer/runs"
	"deployer/tasks/control/report"
)

// console is the operations.Caller of a verb: it shows events and results as the flags say, and
// asks on the terminal.
type console struct {
	env
	runOptions
	yes      bool // answers questions
	estimate estimator
	blocked  *drainWarnings // of the dry run in work
}

// newConsole returns the caller of a verb whose flags may have confirmed what it does.
func newConsole(e env, o runOptions, yes bool) *console {
	return &console{env: e, runOptions: o, yes: yes, estimate: runs.Runner{}.Estimate}
}

// operator returns the operator of a verb.
func (c *console) operator(runner runs.Runner) operations.Operator {
	return operations.Operator{Runner: runner, Caller: c}
}

// Watch implements operations.Caller.
func (c *console) Watch(ctx context.Context, w operations.Watched, do func(context.Context, runs.Observer) error) error {
	return watch(ctx, c.displayOf(w), do)
}

// displayOf returns the display of a run.
func (c *console) displayOf(w operations.Watched) display {
	switch w.Activity {
	case operations.Checking:
		return planOptions{runOptions: c.runOptions}.checkDisplay(c.stderr, w.Hosts)
	case operations.Surveying:
		return c.progressDisplay(c.stderr, w.Hosts)
	case operations.Previewing:
		if c.output == "json" {
			return display{open: func() view.Renderer { return discard{} }}
		}
		query := c.runOptions
		query.Check = true
		return query.progressDisplay(c.stdout, w.Hosts)
	}
	c.blocked = &drainWarnings{}
	return c.display(c.stdout, w.Hosts).with(c.blocked)
}

// Confirm implements operations.Caller.
func (c *console) Confirm(question string) error { return requireYes(c.env, c.yes, question) }

// Show implements operations.Caller: with -o json it prints what is more than the events say, as
// lines of JSON between them.
func (c *console) Show(result operations.Result) error {
	if c.output == "json" {
		return c.showJSON(result)
	}
	c.showText(result)
	return nil
}

func (c *console) showJSON(result operations.Result) error {
	switch r := result.(type) {
	case operations.Survey:
		return json.NewEncoder(c.stdout).Encode(map[string]any{"survey": r.Result})
	case operations.Plan:
		return json.NewEncoder(c.stdout).Encode(map[string]any{"plan": r.Plan})
	case operations.RevertPreview:
		if c.Check {
			return printJSON(c.stdout, previewJSON(r.Preview))
		}
	case operations.FailedCheck, operations.RollingBack, operations.RevertedRecord:
		c.showText(result)
	}
	return nil
}

func (c *console) showText(result operations.Result) {
	switch r := result.(type) {
	case operations.Survey:
		printSurvey(c.stdout, r.Cluster, r.Result)
	case operations.FailedCheck:
		view.Summary(c.stderr, "plan of "+r.Run.Program.Name, r.Report, "")
	case operations.Plan:
		showPlan(c.stdout, r.Run, r.Plan, c.verbose > 0, c.estimate)
	case operations.UpgradePlan:
		printVersionChanges(c.stdout, r.Versions)
		printBatches(c.stdout, r.Project.Cluster, r.Options, r.Limits, r.Steps)
		printHooks(c.stdout, r.Project.Cluster.Hooks)
	case operations.RunEnded:
		hint := ""
		if !r.Final {
			hint = c.rerunHint(r.Run)
		}
		view.Summary(c.stdout, r.Run.Program.Name, r.Report, hint)
		if c.Check {
			printBlockedPods(c.stdout, c.blocked.lines)
		}
	case operations.RemainingProblems:
		fmt.Fprintf(c.stdout, "\nproblems that remain, because they are not in the inventory:\n%s\n", report.Table(r))
	case operations.UpgradeEnded:
		printSnapshot(c.stdout, r.Snapshot)
		if !r.RollsBack {
			printInventoryLine(c.stdout, r.Run)
		}
	case operations.RollingBack, operations.LoweredVersions, operations.RollbackOf, operations.RevertedRecord,
		operations.RevertPreview, operations.Unrestored, operations.RolledBack:
		c.showRevert(result)
	}
}
