package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"deployer/ci/change"
	"deployer/ci/gate"
	"deployer/ci/report"
	"deployer/ci/repository"
)

// deploy carries out the change of a cluster, step by step, and records each in the
// repository, so that any later run knows where this one stopped.
func (p *Pipeline) deploy(ctx context.Context, t *target, j job) error {
	if was := t.interrupted; was != nil {
		j.printf("%s: the deploy of %s stopped after %d of %d steps; this one starts from what they have left\n", t.Name, report.Short(was.To), was.Done, len(was.Steps))
	}
	return p.carryOut(ctx, t, repository.Deploying{From: t.From, To: t.To, After: t.interrupted}, j)
}

func (p *Pipeline) carryOut(ctx context.Context, t *target, d repository.Deploying, j job) error {
	d.Steps = t.commandLines()
	if was := t.state.Deploying; was != nil && was.To == d.To && was.From == d.From && slices.Equal(was.Steps, d.Steps) {
		d = *was
		t.Resumed = true
		j.printf("%s: continuing the deploy of %s, %d of %d steps are done\n", t.Name, report.Short(d.To), d.Done, len(d.Steps))
	} else {
		if was != nil {
			if err := p.resumeOther(ctx, t, was, j); err != nil {
				return err
			}
		}
		if t.state.Approved != t.Plan {
			t.state.Approved = "" // another plan was approved, for a deploy that did not begin
		}
	}
	for d.Done < len(t.Steps) {
		step := t.Steps[d.Done]
		if err := p.keepWindow(t, d.Rollback); err != nil {
			return fmt.Errorf("before %s, step %d of %d: %w", step, d.Done+1, len(t.Steps), err)
		}
		if err := p.step(ctx, t, step, &d, j); err != nil {
			return err
		}
		d.Done, d.Runs, d.Upgrade = d.Done+1, nil, nil
		if err := p.record(ctx, t, &d); err != nil {
			return err
		}
	}
	d.Deployed = true
	return p.record(ctx, t, &d)
}

// resumeOther resumes the interrupted step of a deploy of another revision. When that
// fails, the deploy of the present revision can still repair the cluster.
func (p *Pipeline) resumeOther(ctx context.Context, t *target, was *repository.Deploying, j job) error {
	if !was.Interrupted() {
		return nil
	}
	commit := was.To
	if step := was.Steps[was.Done]; strings.Contains(step, " scale-down ") || strings.Contains(step, " rollback ") {
		commit = was.From
	}
	dir, err := p.checkout(ctx, commit)
	if err != nil {
		return err
	}
	err = p.resume(ctx, t, change.ParseStep(was.Steps[was.Done]), was, dir, j)
	if errors.Is(err, errInterrupted) {
		return err
	}
	t.Resumed = err == nil
	if err != nil {
		j.printf("%s: the deploy of %s did not end: %v\n", t.Name, report.Short(was.To), err)
	}
	return nil
}

// done returns how many of the first steps are done already.
func (t *target) done() int {
	if t.continues() {
		return t.state.Deploying.Done
	}
	return 0
}

// continues reports whether the deploy of the cluster has begun, with the same steps.
func (t *target) continues() bool {
	was := t.state.Deploying
	return was != nil && was.To == t.To && was.From == t.From && slices.Equal(was.Steps, t.commandLines())
}

// record writes the progress of a deploy to the repository.
func (p *Pipeline) record(ctx context.Context, t *target, d *repository.Deploying) error {
	t.state.Deploying = d
	return p.setState(ctx, t)
}

func (p *Pipeline) setState(ctx context.Context, t *target) error {
	ctx = context.WithoutCancel(ctx) // completed steps are recorded even when the run is interrupted
	p.stateMu.Lock()
	defer p.stateMu.Unlock()
	return p.States.Set(ctx, t.Inventory, t.state.ClusterState)
}

// step runs one verb. An interrupted verb is resumed first: that completes a run of a plan,
// which cannot be started again, and repairs what a killed run has left.
func (p *Pipeline) step(ctx context.Context, t *target, s change.Step, d *repository.Deploying, j job) error {
	commit := d.To
	if s.Old {
		commit = d.From
	}
	dir, err := p.checkout(ctx, commit)
	if err != nil {
		return err
	}
	if s.Verb() == change.VerbRollback {
		return p.rollbackStep(ctx, t, s, d, dir, j)
	}
	interrupted := d.Interrupted() && t.Resumed
	if interrupted {
		if err := p.resume(ctx, t, s, d, dir, j); errors.Is(err, errInterrupted) {
			return err
		}
	}
	d.Begun = d.Done + 1
	if j, err = p.nextRun(ctx, t, d, j); err != nil {
		return err
	}
	args := append(slices.Clone(s.Args), "--lock-timeout", t.environment.LockTimeout)
	if t.planFile != "" && (s.Verb() == change.VerbApply || s.Verb() == change.VerbRun) && !interrupted {
		_, err := p.execute(ctx, j, command{program: p.Deployer, args: []string{"apply", t.planFile, "--lock-timeout", t.environment.LockTimeout}, dir: dir, deployer: true})
		return completed(err)
	}
	_, err = p.deployer(ctx, j, dir, t.Inventory, args...)
	return completed(err)
}

// completed returns the error of a verb that has not done its work. One that has, in a cluster with
// problems of other origin, is left to verify.
func completed(err error) error {
	if exitCodeOf(err) == exitUnhealthy {
		return nil
	}
	return err
}

// verify tests a cluster and records the revision when it passes.
func (p *Pipeline) verify(ctx context.Context, t *target, commit string, j job) error {
	dir, err := p.checkout(ctx, commit)
	if err != nil {
		return err
	}
	if _, err := p.deployer(ctx, j, dir, t.Inventory, "verify"); err != nil {
		return err
	}
	t.state.Verify(commit)
	return p.setState(ctx, t)
}

// goBack returns a cluster from one revision to an earlier one and verifies it.
func (p *Pipeline) goBack(ctx context.Context, t *target, from, to string, j job) error {
	back, err := p.wayBack(ctx, t, from, to)
	if err != nil {
		return err
	}
	j.printf("%s: going back from %s to the verified revision %s\n", t.Name, report.Short(from), report.Short(to))
	if err := p.carryOut(ctx, back, repository.Deploying{From: from, To: to, Rollback: true}, j); err != nil {
		return fmt.Errorf("going back to %s: %w", report.Short(to), err)
	}
	if err := p.verify(ctx, back, to, j); err != nil {
		return fmt.Errorf("after going back to %s: %w", report.Short(to), err)
	}
	t.state = back.state
	return nil
}

// wayBack returns the cluster as the target of a rollback.
func (p *Pipeline) wayBack(ctx context.Context, t *target, from, to string) (*target, error) {
	back := &target{environment: t.environment, rules: []revisionRules{{}}, state: t.state,
		Cluster: &report.Cluster{Environment: t.Environment, Inventory: t.Inventory, Name: t.Name, From: from, To: to}}
	for _, revision := range []struct {
		commit string
		site   **change.Site
	}{{from, &back.before}, {to, &back.after}} {
		dir, err := p.checkout(ctx, revision.commit)
		if err != nil {
			return nil, err
		}
		site, found := p.site(dir, t.Inventory)
		if site == nil {
			return nil, fmt.Errorf("%s has no valid inventory %s: %v", report.Short(revision.commit), t.Inventory, found)
		}
		*revision.site = site
	}
	back.Change = change.Between(back.before, back.after)
	back.derive()
	back.Findings = back.check(p, true, false)
	if gate.Blocked(back.Findings) {
		return nil, fmt.Errorf("the rollback from %s to %s is refused: %s", report.Short(from), report.Short(to), back.Findings[0])
	}
	return back, nil
}
