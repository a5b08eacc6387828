package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"deployer/ci/config"
	"deployer/ci/gate"
	"deployer/ci/report"
	"deployer/strictyaml"
)

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
		if t.idle() {
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

// deployTarget deploys a cluster and keeps the records of its runs.
func (r *run) deployTarget(ctx context.Context, t *target, s *report.Stage, j job) error {
	err := r.keepingRuns(ctx, s, t, j, func() error { return r.deploy(ctx, t, j) })
	if err != nil {
		if !interrupted(ctx, err) {
			t.Outcome = outcomeOf(err)
		}
		return err
	}
	t.Outcome = report.Deployed
	return nil
}

// keepingRuns calls change and keeps the records of the runs that it begins on a cluster.
// Records that cannot be kept are a line of the job's log and no error.
func (r *run) keepingRuns(ctx context.Context, s *report.Stage, t *target, j job, change func() error) error {
	began := r.Now()
	err := change()
	if kept := r.keepRuns(ctx, s, t, began, j); kept != nil {
		j.printf("%s: the records of the runs are not among the artifacts: %v\n", t.Name, kept)
	}
	return err
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
	if back := r.keepingRuns(ctx, s, t, j, func() error { return r.goBack(ctx, t, t.To, last, j) }); back != nil {
		return errors.Join(err, back)
	}
	t.Outcome = report.RolledBack
	return &rolledBackError{fmt.Errorf("%w\nthe cluster has the verified revision %s again", err, report.Short(last))}
}
