package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"deployer/ci/config"
	"deployer/ci/gate"
	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/runs/telemetry"
	"deployer/strictyaml"
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
	if err := p.load(ctx); err != nil {
		return err
	}
	if err := p.loadSecrets(); err != nil {
		return err
	}
	if p.config.Remote == "" {
		return nil
	}
	if err := p.Repository.FetchState(ctx, p.config.Remote); err != nil {
		return fmt.Errorf("reading the state of runs: %w", err)
	}
	return nil
}

// refusedError says that a gate holds the run back.
type refusedError struct{ findings []gate.Finding }

// Error implements error.
func (e *refusedError) Error() string {
	lines := make([]string, len(e.findings))
	for i, f := range e.findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// rolledBackError says that clusters have their former revision again.
type rolledBackError struct{ err error }

func (e *rolledBackError) Error() string { return e.err.Error() }
func (e *rolledBackError) Unwrap() error { return e.err }

func outcomeOf(err error) report.Outcome {
	var refused *refusedError
	var back *rolledBackError
	switch {
	case errors.As(err, &refused):
		return report.Refused
	case errors.As(err, &back):
		return report.RolledBack
	}
	return report.Failed
}

// stage runs one stage.
func (r *run) stage(ctx context.Context, e strictyaml.Entry[config.Stage], s *report.Stage, j job) error {
	switch e.Value.Uses {
	case config.Validate:
		return r.refuse(func(f gate.Finding) bool { return f.Rule == "validation" })
	case config.Plan:
		err := r.each(ctx, r.targets, s, func(t *target) error { return errors.Join(r.plan(ctx, t, j), r.keepPlan(s, t)) })
		r.digestPush()
		if r.record.Plan != "" {
			j.printf("plan of the push: %s\n", r.record.Plan)
		}
		return err
	case config.Gate:
		return r.gate(ctx, j)
	case config.Deploy:
		targets := r.of(e.Value.Environment)
		if err := r.holdBack(targets); err != nil {
			return err
		}
		if err := r.keepApproval(ctx, targets); err != nil {
			return err
		}
		if err := r.each(ctx, targets, s, func(t *target) error { return r.deployTarget(ctx, t, s, j) }); err != nil {
			return err
		}
		return r.giveKubeconfig(ctx, e.Value, s, j)
	case config.Verify:
		if err := r.each(ctx, r.of(e.Value.Environment), s, func(t *target) error { return r.verifyTarget(ctx, t, s, j) }); err != nil {
			return err
		}
		return r.giveKubeconfig(ctx, e.Value, s, j)
	}
	return r.command(ctx, e, s, j)
}

// refuse returns an error with the blocking findings that are selected.
func (r *run) refuse(selected func(gate.Finding) bool) error {
	return refusal(slices.DeleteFunc(r.record.Findings(), func(f gate.Finding) bool { return !selected(f) }))
}

// gate applies the rules again, with the digests of the plans.
func (r *run) gate(ctx context.Context, j job) error {
	for _, t := range r.targets {
		if t.Plan == "" {
			continue
		}
		t.addFindings(t.check(r.Pipeline, false, false))
	}
	for _, f := range r.record.Findings() {
		if f.Level == gate.Advise {
			j.printf("advice: %s\n", f)
		}
	}
	if err := r.refuse(func(gate.Finding) bool { return true }); err != nil {
		return err
	}
	return r.keepApproval(ctx, r.targets)
}

// of returns the clusters of an environment.
func (r *run) of(environment string) []*target {
	return slices.DeleteFunc(slices.Clone(r.targets), func(t *target) bool { return t.Environment != environment })
}

// each calls do for each cluster that changes. A failure does not stop the loop, because
// clusters of an environment do not depend on each other; an interrupt does.
func (r *run) each(ctx context.Context, targets []*target, s *report.Stage, do func(*target) error) error {
	var errs []error
	s.Outcome = report.Nothing
	for _, t := range targets {
		if t.Change.Nothing() && t.state.Deploying == nil {
			continue
		}
		s.Outcome = ""
		if err := do(t); err != nil {
			if interrupted(ctx, err) {
				t.Outcome = report.Interrupted
				return errInterrupted
			}
			errs = append(errs, fmt.Errorf("%s: %w", t.Name, err))
		}
	}
	if slices.ContainsFunc(errs, func(err error) bool { return outcomeOf(err) == report.Failed }) {
		return errors.New(errors.Join(errs...).Error()) // one failed cluster decides the exit code
	}
	return errors.Join(errs...)
}

// giveKubeconfig makes the output KUBECONFIG of a stage that declares it.
func (r *run) giveKubeconfig(ctx context.Context, stage config.Stage, s *report.Stage, j job) error {
	if !slices.Contains(stage.Outputs, config.Kubeconfig) {
		return nil
	}
	paths, err := r.kubeconfigs(ctx, r.of(stage.Environment), j)
	if err == nil {
		r.setOutputs(s, map[string]string{config.Kubeconfig: paths})
	}
	return err
}

func (r *run) deployTarget(ctx context.Context, t *target, s *report.Stage, j job) error {
	began := r.Now()
	err := r.deploy(ctx, t, j)
	if kept := r.keepRuns(ctx, s, t, began, j); kept != nil {
		j.printf("%s: the records of the runs are not among the artifacts: %v\n", t.Name, kept)
	}
	if err != nil {
		if !interrupted(ctx, err) {
			t.Outcome = outcomeOf(err)
		}
		return err
	}
	t.Outcome = report.Deployed
	return nil
}

// verifyTarget verifies a cluster, and rolls it back when the verification fails and
// the environment is configured for it.
func (r *run) verifyTarget(ctx context.Context, t *target, s *report.Stage, j job) error {
	if t.Outcome != report.Deployed {
		return nil
	}
	err := r.verify(ctx, t, t.To, j)
	if err == nil || errors.Is(err, errInterrupted) {
		return err
	}
	t.Outcome = report.Failed
	last := t.state.LastVerified()
	if last == "" {
		last = t.From
	}
	if t.environment.OnFailedVerify != "rollback" || last == "" || last == t.To {
		return err
	}
	began := r.Now()
	back := r.goBack(ctx, t, t.To, last, j)
	if kept := r.keepRuns(ctx, s, t, began, j); kept != nil {
		j.printf("%s: the records of the runs are not among the artifacts: %v\n", t.Name, kept)
	}
	if back != nil {
		return errors.Join(err, back)
	}
	t.Outcome = report.RolledBack
	return &rolledBackError{fmt.Errorf("%w\nthe cluster has the verified revision %s again", err, report.Short(last))}
}

// finish computes the outcome of the run.
func (r *run) finish() {
	r.out.Flush()
	r.record.Seconds = r.Now().Sub(r.record.Started).Seconds()
	r.record.Outcome = report.Nothing
	for _, t := range r.targets {
		if t.Outcome == "" {
			t.Outcome = report.Nothing
			if !t.Change.Nothing() {
				t.Outcome = report.Skipped
			}
		}
		if t.Outcome == report.Deployed {
			r.record.Outcome = report.Deployed
		}
	}
	if worst := r.worst(); worst != "" {
		r.record.Outcome = worst
	}
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
		if newer, err := r.newerRevision(ctx, t.state); err != nil || newer != "" {
			continue // the gates of the newer revision hold
		}
		t.state.Unchanged = r.commit
		if err := r.setState(ctx, t); err != nil {
			r.printf("%s: the gates of %s hold for the next push, not those of %s: %v\n", t.Name, report.Short(t.From), report.Short(r.commit), err)
		}
	}
}

// prune removes checkouts and plans that no cluster needs any more.
func (p *Pipeline) prune(targets []*target) {
	needed := map[string]bool{p.commit: true}
	for _, t := range targets {
		needed[t.state.LastVerified()] = true
		if d := t.state.Deploying; d != nil {
			needed[d.From], needed[d.To] = true, true
		}
	}
	for _, dir := range []string{"checkouts", "plans"} {
		entries, err := os.ReadDir(filepath.Join(p.State, dir))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !needed[e.Name()] {
				_ = os.RemoveAll(filepath.Join(p.State, dir, e.Name()))
			}
		}
	}
}

func exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file)))
	return err == nil
}
