package operations

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/limit"
	"deployer/project"
	"deployer/runs"
	"deployer/tasks/control/upgrade"
)

// UpgradeComponents are the values of UpgradeOptions.Only, in the order of an upgrade.
var UpgradeComponents = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "containerd", "kubelet", "kube-proxy",
}

// UpgradeOptions are the options of an upgrade; DefaultUpgrade has the defaults.
type UpgradeOptions struct {
	runs.Options
	UpgradeLimits
	// To is the Kubernetes version; empty for that of the inventory.
	To string
	// BatchSize is the maximum number of minions that change at the same time.
	BatchSize limit.Limit
	// MaxFail is the number of minions that may fail; after more no further one begins.
	MaxFail limit.Limit
	// Canary is the number of minions that change before the others, one at a time.
	Canary int
	// Soak is the time to observe the first master and the first minions.
	Soak time.Duration
	// Pause ends the run after the first minions; resume continues it.
	Pause bool
	// Only selects components; empty for all.
	Only []string
	// Drain is auto, always or never; see package upgrade.
	Drain string
	// DrainTimeout is the maximum duration of the drain of a node.
	DrainTimeout time.Duration
	// Rollout is the order of minions; empty for that of the inventory.
	Rollout RolloutPlan
	// AutoRollback rolls the upgrade back when failed hosts end it.
	AutoRollback bool
	// LowerMinor permits this rollback to lower the minor version of API servers.
	LowerMinor bool
}

// DefaultUpgrade returns the options of an upgrade whose caller sets none: batches of a tenth of
// the minions, one canary, no failure, drains where the change requires them, at most 15 minutes
// each.
func DefaultUpgrade() UpgradeOptions {
	return UpgradeOptions{BatchSize: limit.DefaultParallel(), Canary: 1, Drain: upgrade.DrainAuto, DrainTimeout: 15 * time.Minute}
}

// RunOptions returns the options of the upgrade's run: options become variables of the playbook.
// An unknown component is a *project.UserError.
func (o UpgradeOptions) RunOptions() (runs.Options, error) {
	only := make([]any, len(o.Only))
	for i, name := range o.Only {
		if !slices.Contains(UpgradeComponents, name) {
			return runs.Options{}, project.AsUserError(fmt.Errorf("--only: there is no component %q: use %s", name, strings.Join(UpgradeComponents, ", ")))
		}
		only[i] = name
	}
	out := o.Options
	out.Kubernetes, out.Tags = o.To, o.Only
	out.Extra = map[string]any{
		"upgrade_batch": o.BatchSize.String(), "upgrade_max_fail": o.MaxFail.String(), "upgrade_canary": o.Canary,
		"upgrade_soak": o.Soak.String(), "upgrade_pause": o.Pause, "upgrade_only": only,
		"upgrade_drain": o.Drain, "upgrade_drain_timeout": o.DrainTimeout.String(),
	}
	if steps := o.Rollout.vars(); len(steps) > 0 {
		out.Extra["upgrade_steps"] = steps
	}
	o.UpgradeLimits.vars(out.Extra)
	return out, nil
}

// PrepareUpgrade returns the run of an upgrade. Limits and steps that do not fit the inventory are
// a *project.UserError.
func (o Operator) PrepareUpgrade(with UpgradeOptions) (*runs.Run, error) {
	given, err := with.RunOptions()
	if err != nil {
		return nil, err
	}
	r, err := o.Runner.Upgrade(given)
	if err != nil {
		return nil, err
	}
	if _, err := with.Limits(r.Project); err != nil {
		return nil, err
	}
	_, err = with.Rollout.Resolve(r.Project)
	return r, err
}

// RunUpgrade executes a run of PrepareUpgrade and, when failed hosts have ended it, rolls it back
// if the options say so.
func (o Operator) RunUpgrade(ctx context.Context, r *runs.Run, with UpgradeOptions) error {
	snapshot := &SnapshotCollector{}
	report, err := watch(ctx, o, r, Watched{Changing, r.TargetHosts()}, r.Do, snapshot)
	if report == nil {
		return err
	}
	back := err == nil && with.rollsBack(report)
	shown := first(
		o.Caller.Show(RunEnded{Run: r, Report: report, Final: back}),
		o.Caller.Show(UpgradeEnded{Run: r, Snapshot: snapshot.Found(), RollsBack: back}),
	)
	if back {
		return o.RollBackFailed(ctx, r.ID(), with)
	}
	return first(err, shown, Outcome(report))
}

// PlanUpgrade checks all hosts as an upgrade does, and shows what it would change.
func (o Operator) PlanUpgrade(ctx context.Context, with UpgradeOptions) error {
	outcome, err := o.showUpgradePlan(ctx, with, func(*runs.Run) {})
	return first(err, outcome)
}

// showUpgradePlan is PlanUpgrade with a function that gets the run before hosts are contacted. It
// returns the outcome of the check, too.
func (o Operator) showUpgradePlan(ctx context.Context, with UpgradeOptions, prepared func(*runs.Run)) (outcome, err error) {
	with.Check = true
	r, err := o.PrepareUpgrade(with)
	if err != nil {
		return nil, err
	}
	limits, err := with.Limits(r.Project)
	if err != nil {
		return nil, err
	}
	steps, err := with.Rollout.Resolve(r.Project)
	if err != nil {
		return nil, err
	}
	prepared(r)
	versions := &versionCollector{}
	found, err := o.plan(ctx, r, versions)
	if err != nil {
		return nil, err
	}
	err = first(
		o.Caller.Show(UpgradePlan{versions.changes(), with, r.Project, limits, steps}),
		o.Caller.Show(Plan{r, found.Plan}),
	)
	return Outcome(found.Report), err
}
