package pipeline

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"deployer/ci/change"
	"deployer/ci/repository"
)

// runID matches the ids of runs.
var runID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// rollbackStep takes back the upgrade by which the cluster got the versions of the step's
// inventory. The state names the runs of this upgrade before the first rollback starts. So a step
// that starts again, after a kill or after a person has completed the rollback, means the same
// upgrade, of which nothing may be left, and never the upgrade before it.
func (p *Pipeline) rollbackStep(ctx context.Context, t *target, s change.Step, d *repository.Deploying, dir string, j job) error {
	if err := p.nameUpgrade(ctx, t, d, dir, j); err != nil {
		return err
	}
	if d.Interrupted() && t.Resumed {
		if err := p.resume(ctx, t, s, d, dir, j); err == nil || errors.Is(err, errInterrupted) {
			return err
		}
	}
	d.Begun = d.Done + 1
	j, err := p.nextRun(ctx, t, d, j)
	if err != nil {
		return err
	}
	args := append([]string{"rollback", d.Upgrade[0]}, s.Args[1:]...)
	args = append(append(args, "--lock-timeout", t.environment.LockTimeout), stepFlags(withUpgrade(s, d))...) // hosts may have the only records of the upgrades
	_, err = p.deployer(ctx, j, dir, t.Inventory, args...)
	return completed(err)
}

// nameUpgrade writes down the upgrade of a rollback, unless an earlier run has.
func (p *Pipeline) nameUpgrade(ctx context.Context, t *target, d *repository.Deploying, dir string, j job) error {
	if len(d.Upgrade) > 0 {
		return nil
	}
	out, err := p.deployer(ctx, j, dir, t.Inventory, "rollback", "--print-upgrade")
	if err != nil {
		return err
	}
	ids := strings.Fields(out)
	if len(ids) == 0 || slices.ContainsFunc(ids, func(id string) bool { return !runID.MatchString(id) }) {
		return fmt.Errorf("finding the upgrade to roll back: want ids of runs, got %q", out)
	}
	d.Upgrade = ids
	return p.record(ctx, t, d)
}

// withUpgrade returns the step of a rollback with the runs that the state names; other steps as they
// are.
func withUpgrade(s change.Step, d *repository.Deploying) change.Step {
	if s.Verb() == change.VerbRollback {
		s.Args = slices.Concat(s.Args[:1], d.Upgrade, s.Args[1:])
	}
	return s
}
