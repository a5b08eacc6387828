package operations

import (
	"context"
	"fmt"
	"time"

	"deployer/cluster/compare"
	"deployer/engine"
	"deployer/runs"
	"deployer/shortlist"
)

// ApplyOptions are the options of Apply. With Check nothing is changed.
type ApplyOptions struct {
	runs.Options
	// Upgrade also upgrades older components of a healthy cluster.
	Upgrade bool
}

// application is one execution of Apply.
type application struct {
	Operator
	ApplyOptions
	survey *runs.Run      // the first one, which has prompted for passwords
	found  compare.Result // of the last survey
}

// Apply compares a cluster with its inventory and removes the differences. Apply reports whether
// there were some, when it returns no error.
func (o Operator) Apply(ctx context.Context, with ApplyOptions) (differed bool, err error) {
	a := &application{Operator: o, ApplyOptions: with}
	found, err := a.examine(ctx)
	if err != nil {
		return false, err
	}
	decision := a.decide(found)
	if decision.Action != compare.ActionStart {
		return a.carryOut(ctx, decision)
	}
	if _, err := a.planAndApply(ctx, a.Runner.Start); err != nil && !EndedAs(err, Partial) || a.Check {
		return true, err
	}
	if found, err = a.examineStarted(ctx); err != nil {
		return true, err
	}
	decision = a.decide(found)
	if decision.Action == compare.ActionStart && found.Observed.Etcd == nil {
		return true, fmt.Errorf("the cluster is down and all its services were started: %s; look at journalctl -u etcd on the masters", decision.Reason)
	}
	if decision.Action == compare.ActionStart { // etcd serves: files of the API servers may differ
		decision.Action = compare.ActionRepair
	}
	_, err = a.carryOut(ctx, decision)
	return true, err
}

// carryOut executes a decision, and reports whether the cluster differed.
func (a *application) carryOut(ctx context.Context, decision compare.Decision) (differed bool, err error) {
	switch decision.Action {
	case compare.ActionRestore:
		return true, &Ended{QuorumLost, fmt.Errorf("nothing was changed: %s", decision.Reason)}
	case compare.ActionRefuse:
		return true, &Ended{Refused, fmt.Errorf("nothing was changed: %s", decision.Reason)}
	case compare.ActionInstall:
		return true, a.installNew(ctx)
	case compare.ActionRepair:
		if differed, err = a.planAndApply(ctx, a.Runner.Repair); err == nil && !differed {
			err = a.problems()
		}
		return differed, err
	case compare.ActionUpgrade:
		return a.planAndUpgrade(ctx)
	}
	return true, nil
}

// examine surveys the cluster and shows what it found.
func (a *application) examine(ctx context.Context) (*runs.SurveyResult, error) {
	found, err := a.observe(ctx)
	if err != nil {
		return nil, err
	}
	return found, a.showSurvey(found)
}

func (a *application) showSurvey(found *runs.SurveyResult) error {
	return a.Caller.Show(Survey{a.survey.Project.Cluster.Name, found.Result})
}

// readyWithin is the time that components have to report that they are ready after the services
// were started: a kubelet that has started counts a pod as not ready until its first probe, whose
// period is 10 s by default.
const readyWithin = time.Minute

// examineStarted surveys the cluster after its services were started, again until nothing is
// broken or readyWithin has passed, and shows what it found last.
func (a *application) examineStarted(ctx context.Context) (*runs.SurveyResult, error) {
	for deadline := time.Now().Add(readyWithin); ; {
		found, err := a.observe(ctx)
		if err != nil {
			return nil, err
		}
		if a.problems() == nil || time.Now().After(deadline) {
			return found, a.showSurvey(found)
		}
		select {
		case <-ctx.Done():
			return nil, ended(Interrupted)
		case <-time.After(5 * time.Second):
		}
	}
}

// observe surveys the cluster.
func (a *application) observe(ctx context.Context) (*runs.SurveyResult, error) {
	survey, err := a.Runner.Survey(a.Options)
	if err != nil {
		return nil, err
	}
	a.share(survey)
	found, err := watch(ctx, a.Operator, survey, Watched{Surveying, survey.Hosts}, survey.Survey)
	if err != nil {
		return nil, err
	}
	if found.Report.Interrupted {
		return nil, ended(Interrupted)
	}
	a.survey, a.found = survey, found.Result
	return found, nil
}

// share spares a run the prompts of the first survey.
func (a *application) share(r *runs.Run) {
	if a.survey != nil {
		r.ShareCredentials(a.survey)
	}
}

func (a *application) decide(found *runs.SurveyResult) compare.Decision {
	return compare.Decide(found.Result, compare.Rules{Upgrade: a.Upgrade, Protected: a.survey.Protected()})
}

// problems returns Unhealthy when the survey has found problems.
func (a *application) problems() error {
	n := len(a.found.Broken) + len(a.found.Problems)
	if n == 0 {
		return nil
	}
	return &Ended{Unhealthy, fmt.Errorf("no host differs from the inventory, and the survey above shows %s", shortlist.Count(n, "problem"))}
}

// installNew installs a cluster. Its plan would list everything, so none is shown.
func (a *application) installNew(ctx context.Context) error {
	if a.Check {
		return nil
	}
	if err := a.Caller.Confirm(fmt.Sprintf("Install the cluster on %s?", shortlist.Count(len(a.survey.Hosts), "host"))); err != nil {
		return err
	}
	r, err := a.Runner.Install(a.Options)
	if err != nil {
		return err
	}
	a.share(r)
	return a.Execute(ctx, r)
}

// planAndApply plans a run, asks, and executes the plan. planAndApply reports whether the plan
// had changes; the error is Partial when hosts were left out of the plan.
func (a *application) planAndApply(ctx context.Context, prepare func(runs.Options) (*runs.Run, error)) (changes bool, err error) {
	check := a.Options
	check.Check = true
	planned, err := prepare(check)
	if err != nil {
		return false, err
	}
	a.share(planned)
	found, err := a.plan(ctx, planned)
	if err != nil {
		return false, err
	}
	if err := a.Caller.Show(Plan{planned, found.Plan}); err != nil {
		return false, err
	}
	if found.Plan.Empty() || a.Check {
		return !found.Plan.Empty(), Outcome(found.Report)
	}
	if err := a.Caller.Confirm("Execute this plan?"); err != nil {
		return true, err
	}
	from, err := runs.StorePlan(found.Plan)
	if err != nil {
		return true, err
	}
	r, err := a.Runner.Apply(found.Plan, from, a.Options)
	if err != nil {
		return true, err
	}
	a.share(r)
	return true, first(a.Execute(ctx, r), Outcome(found.Report))
}

// plan checks the hosts of a run. It shows the failures of a check that has no plan, and
// returns their outcome.
func (o Operator) plan(ctx context.Context, r *runs.Run, sinks ...engine.Sink) (*runs.PlanResult, error) {
	found, err := watch(ctx, o, r, Watched{Checking, r.TargetHosts()}, r.Plan, sinks...)
	if err != nil {
		return nil, err
	}
	if found.Plan == nil {
		return nil, first(o.Caller.Show(FailedCheck{r, found.Report}), Outcome(found.Report), ended(Failed))
	}
	return found, nil
}

// planAndUpgrade plans an upgrade, asks, and executes it. The hosts are checked again as each
// comes to its turn, because pods move in between.
func (a *application) planAndUpgrade(ctx context.Context) (differed bool, err error) {
	o := DefaultUpgrade()
	o.Options = a.Options
	outcome, err := a.showUpgradePlan(ctx, o, func(r *runs.Run) { a.share(r) })
	if err != nil || a.Check {
		return true, first(err, outcome)
	}
	if err := a.Caller.Confirm("Execute this upgrade?"); err != nil {
		return true, err
	}
	r, err := a.PrepareUpgrade(o)
	if err != nil {
		return true, err
	}
	a.share(r)
	return true, a.RunUpgrade(ctx, r, o)
}
