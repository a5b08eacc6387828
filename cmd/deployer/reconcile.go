package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"deployer/cluster/compare"
	"deployer/engine/plan"
	"deployer/engine/view"
	"deployer/runs"
)

// applyOptions are the flags of apply.
type applyOptions struct {
	runOptions
	yes, upgrade     bool
	detailedExitCode bool
}

// errDiffers is the outcome of an apply that found or removed differences; only
// --detailed-exitcode distinguishes it from success.
var errDiffers = errors.New("the cluster differs from the inventory")

// exitCode maps the outcome of a reconciliation to the exit code that the flags
// select.
func (o applyOptions) exitCode(err error) error {
	switch {
	case errors.Is(err, errDiffers) && o.detailedExitCode:
		return exitSilently(exitDiffers)
	case errors.Is(err, errDiffers):
		return nil
	case o.detailedExitCode && exitCode(err) == exitUsage:
		return &exitError{exitFailed, err} // 2 means differences
	}
	return err
}

// reconciliation is one execution of apply without a plan.
type reconciliation struct {
	env
	applyOptions
	runner runs.Runner
	given  runs.Options
	survey *runs.Run      // the first one, which has prompted for passwords
	found  compare.Result // of the last survey
}

// reconcile compares the cluster with its inventory and removes the differences. reconcile
// returns errDiffers when there were some.
func reconcile(ctx context.Context, e env, o applyOptions) error {
	given, err := o.resolve()
	if err != nil {
		return err
	}
	c := &reconciliation{env: e, applyOptions: o, runner: newRunner(e), given: given}
	found, err := c.examine(ctx)
	if err != nil {
		return err
	}
	decision := c.decide(found)
	if decision.Action != compare.ActionStart {
		return c.carryOut(ctx, decision)
	}
	err = c.planAndApply(ctx, c.runner.Start)
	if err != nil && !errors.Is(err, errDiffers) && exitCode(err) != exitPartial {
		return err
	}
	if o.Check {
		return firstError(err, errDiffers)
	}
	if found, err = c.examineStarted(ctx); err != nil {
		return err
	}
	decision = c.decide(found)
	if decision.Action == compare.ActionStart && found.Observed.Etcd == nil {
		return fmt.Errorf("the cluster is down and all its services were started: %s; look at journalctl -u etcd on the masters", decision.Reason)
	}
	if decision.Action == compare.ActionStart { // etcd serves: files of the API servers may differ
		decision.Action = compare.ActionRepair
	}
	return firstError(c.carryOut(ctx, decision), errDiffers)
}

// carryOut executes a decision.
func (c *reconciliation) carryOut(ctx context.Context, decision compare.Decision) error {
	switch decision.Action {
	case compare.ActionRestore:
		return &exitError{exitQuorumLost, fmt.Errorf("nothing was changed: %s", decision.Reason)}
	case compare.ActionRefuse:
		return &exitError{exitRefused, fmt.Errorf("nothing was changed: %s", decision.Reason)}
	case compare.ActionInstall:
		return c.installNew(ctx)
	case compare.ActionRepair:
		return firstError(c.planAndApply(ctx, c.runner.Repair), c.remaining())
	case compare.ActionUpgrade:
		return c.planAndUpgrade(ctx)
	}
	return errDiffers
}

// examine surveys the cluster and prints what it found.
func (c *reconciliation) examine(ctx context.Context) (*runs.SurveyResult, error) {
	found, err := c.observe(ctx)
	if err != nil {
		return nil, err
	}
	return found, c.showSurvey(c.stdout, c.survey.Project.Cluster.Name, found.Result)
}

// readyWithin is the time that components have to report that they are ready after the services
// were started: a kubelet that has started counts a pod as not ready until its first probe, whose
// period is 10 s by default.
const readyWithin = time.Minute

// examineStarted surveys the cluster after its services were started, again until nothing is
// broken or readyWithin has passed, and prints what it found last.
func (c *reconciliation) examineStarted(ctx context.Context) (*runs.SurveyResult, error) {
	for deadline := time.Now().Add(readyWithin); ; {
		found, err := c.observe(ctx)
		if err != nil {
			return nil, err
		}
		if c.remaining() == nil || time.Now().After(deadline) {
			return found, c.showSurvey(c.stdout, c.survey.Project.Cluster.Name, found.Result)
		}
		select {
		case <-ctx.Done():
			return nil, exitSilently(exitInterrupted)
		case <-time.After(5 * time.Second):
		}
	}
}

// observe surveys the cluster.
func (c *reconciliation) observe(ctx context.Context) (*runs.SurveyResult, error) {
	survey, err := c.runner.Survey(c.given)
	if err != nil {
		return nil, err
	}
	c.share(survey)
	found, err := runWithDisplay(ctx, survey, c.progressDisplay(c.stderr, survey.Hosts), survey.Survey)
	if err != nil {
		return nil, err
	}
	if found.Report.Interrupted {
		return nil, exitSilently(exitInterrupted)
	}
	c.survey, c.found = survey, found.Result
	return found, nil
}

// share spares a run the prompts of the first survey.
func (c *reconciliation) share(r *runs.Run) {
	if c.survey != nil {
		r.ShareCredentials(c.survey)
	}
}

func (c *reconciliation) decide(found *runs.SurveyResult) compare.Decision {
	return compare.Decide(found.Result, compare.Rules{Upgrade: c.upgrade, Protected: c.survey.Protected()})
}

// remaining returns exit code 5 when the survey has found problems although no host differs from
// the inventory.
func (c *reconciliation) remaining() error {
	n := len(c.found.Broken) + len(c.found.Problems)
	if n == 0 {
		return nil
	}
	return &exitError{exitUnhealthy, fmt.Errorf("no host differs from the inventory, and the survey above shows %s", plural(n, "problem"))}
}

// installNew installs a cluster. Its plan would list everything, so none is shown.
func (c *reconciliation) installNew(ctx context.Context) error {
	if c.Check {
		return errDiffers
	}
	if err := requireYes(c.env, c.yes, fmt.Sprintf("Install the cluster on %s?", hostCount(len(c.survey.Hosts)))); err != nil {
		return err
	}
	r, err := c.runner.Install(c.given)
	if err != nil {
		return err
	}
	c.share(r)
	return firstError(execute(ctx, c.env, r, c.runOptions), errDiffers)
}

// planAndApply plans a run, prompts for a confirmation, and executes the plan.
// planAndApply returns errDiffers when the plan had changes and nothing failed, and
// exit code 3 when hosts were left out of the plan.
func (c *reconciliation) planAndApply(ctx context.Context, prepare func(runs.Options) (*runs.Run, error)) error {
	check := c.given
	check.Check = true
	planned, err := prepare(check)
	if err != nil {
		return err
	}
	c.share(planned)
	found, err := c.plan(ctx, planned, nil)
	if err != nil || found == nil {
		return err
	}
	if found.Plan.Empty() {
		return exitOutcome(found.Report)
	}
	if c.Check {
		return firstError(exitOutcome(found.Report), errDiffers)
	}
	if err := requireYes(c.env, c.yes, "Execute this plan?"); err != nil {
		return err
	}
	from, err := runs.StorePlan(found.Plan)
	if err != nil {
		return err
	}
	r, err := c.runner.Apply(found.Plan, from, c.given)
	if err != nil {
		return printDrift(c.env, err)
	}
	c.share(r)
	return firstError(execute(ctx, c.env, r, c.runOptions), firstError(exitOutcome(found.Report), errDiffers))
}

// plan checks the hosts of a run and prints its plan, after the changes of versions when
// results collects those. plan prints the failures of a check that has no plan, and returns
// their exit code.
func (c *reconciliation) plan(ctx context.Context, planned *runs.Run, results *upgradeResults) (*runs.PlanResult, error) {
	shown := planOptions{runOptions: c.runOptions}.checkDisplay(c.stderr, planned.TargetHosts())
	if results != nil {
		shown = shown.with(results)
	}
	found, err := runWithDisplay(ctx, planned, shown, planned.Plan)
	if err != nil {
		return nil, err
	}
	if found.Plan == nil {
		view.Summary(c.stderr, "plan of "+planned.Program.Name, found.Report, "")
		return nil, exitOutcome(found.Report)
	}
	if results != nil && c.output == "text" {
		results.printChanges(c.stdout)
		o := defaultUpgrade(c.runOptions)
		limits, err := o.rollout(planned.Project)
		if err != nil {
			return nil, err
		}
		printBatches(c.stdout, planned.Project.Cluster, o, limits, nil)
	}
	return found, c.showPlan(c.stdout, planned, found.Plan)
}

// planAndUpgrade plans an upgrade, prompts for a confirmation, and executes it. The
// hosts are checked again as each comes to its turn, because pods move in between.
// planAndUpgrade returns errDiffers when nothing failed.
func (c *reconciliation) planAndUpgrade(ctx context.Context) error {
	o := defaultUpgrade(c.runOptions)
	given, err := o.resolve()
	if err != nil {
		return err
	}
	check := given
	check.Check = true
	planned, err := c.runner.Upgrade(check)
	if err != nil {
		return err
	}
	c.share(planned)
	found, err := c.plan(ctx, planned, &upgradeResults{})
	if err != nil || found == nil {
		return err
	}
	if c.Check {
		return firstError(exitOutcome(found.Report), errDiffers)
	}
	if err := requireYes(c.env, c.yes, "Execute this upgrade?"); err != nil {
		return err
	}
	r, err := c.runner.Upgrade(given)
	if err != nil {
		return err
	}
	c.share(r)
	return firstError(runUpgrade(ctx, c.env, c.runner, r, o), errDiffers)
}

// showSurvey prints the result of the survey: as text, or as one line of JSON before the
// events of the run.
func (o applyOptions) showSurvey(w io.Writer, name string, r compare.Result) error {
	if o.output == "json" {
		return json.NewEncoder(w).Encode(map[string]any{"survey": r})
	}
	printSurvey(w, name, r)
	return nil
}

// showPlan prints the plan in the same way.
func (o applyOptions) showPlan(w io.Writer, r *runs.Run, p *plan.Plan) error {
	if o.output == "json" {
		return json.NewEncoder(w).Encode(map[string]any{"plan": p})
	}
	showPlan(w, r, p, o.verbose > 0, runs.Runner{}.Estimate)
	return nil
}
