package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/project"
	"deployer/runs/telemetry"
)

// run is one execution of the stages.
type run struct {
	*Pipeline
	record  *report.Run
	targets []*target

	outputsMu sync.Mutex
	outputs   map[string]map[string]string // by stage
	temporary []string                     // directories that are removed at the end

	span *telemetry.Span
}

// Run waits until no other run works on the repository, and runs the stages. A run for
// which a newer one waits ends with a *repository.SupersededError. The report is nil only
// when an error kept the run from beginning; outcomes of stages are in the report.
func (p *Pipeline) Run(ctx context.Context) (*report.Run, error) {
	targets, end, err := p.begin(ctx, repository.Push)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := distrusted(targets); err != nil {
		return nil, err
	}
	if err := p.refuseOlder(ctx, targets); err != nil {
		return nil, err
	}
	r := &run{Pipeline: p, record: p.newRun(ctx, targets), targets: targets, outputs: map[string]map[string]string{}}
	r.span = p.Spans.Start(nil, "ci "+report.Short(p.commit), "revision", p.commit)
	r.stages(ctx)
	if err := r.removeTemporary(); err != nil {
		return nil, err
	}
	r.finish()
	r.span.End(string(r.record.Outcome), failureOf(r.record.Outcome, string(r.record.Outcome)))
	r.recordUnchanged(ctx)
	if err := p.forgetRemoved(ctx); err != nil {
		r.printf("the state of clusters that were removed stays: %v\n", err)
	}
	p.prune(targets)
	return r.record, nil
}

// begin waits for the lock, prepares the run, and assesses the clusters. The
// caller must call end, which releases the lock. The error of a push for which a newer one
// waits is a *repository.SupersededError.
func (p *Pipeline) begin(ctx context.Context, kind repository.Kind) (targets []*target, end func(), err error) {
	release, err := p.Lock(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	err = p.prepare(ctx)
	if err == nil {
		targets, err = p.assess(ctx)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return targets, release, nil
}

// Lock waits for the lock of the state directory.
func (p *Pipeline) Lock(ctx context.Context, kind repository.Kind) (func(), error) {
	return repository.Lock(ctx, filepath.Join(p.State, "lock"), kind, report.Short(p.commit), func(holder string) {
		p.printf("another run works on this repository (%s); waiting for its end\n", holder)
	})
}

// prepare removes the leftovers of a killed run, and reads the configuration,
// secrets, and the state of clusters from the remote that keeps it. The caller has
// the lock.
func (p *Pipeline) prepare(ctx context.Context) error {
	if err := p.removeLeftovers(); err != nil {
		return err
	}
	if err := p.prepareReports(); err != nil {
		return project.AsUserError(fmt.Errorf("preparing the directory of reports: %w", err))
	}
	if err := p.load(ctx); err != nil {
		return err
	}
	if err := p.loadSecrets(); err != nil {
		return err
	}
	return p.fetchStates(ctx)
}

// recordUnchanged records the revision for clusters that it does not change, so that its
// gates hold for the next push.
func (r *run) recordUnchanged(ctx context.Context) {
	if r.record.Outcome != report.Nothing && r.record.Outcome != report.Deployed || r.Old != "" {
		return
	}
	for _, t := range r.targets {
		if !t.Change.Nothing() || t.after == nil || t.state.Deploying != nil || t.state.LastVerified() == "" || t.state.Current() == r.commit {
			continue
		}
		if newer, err := r.newerRevision(ctx, t.state.ClusterState); err != nil || newer != "" {
			continue // the gates of the newer revision hold
		}
		t.state.Unchanged = r.commit
		if err := r.setState(ctx, t); err != nil {
			r.printf("%s: the gates of %s hold for the next push, not those of %s: %v\n", t.Name, report.Short(t.From), report.Short(r.commit), err)
		}
	}
}
