package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"deployer/ci/report"
	"deployer/ci/repository"
)

// Exit codes of deployer apply --detailed-exitcode: for differences, and for a cluster that equals
// its inventory and has problems.
const (
	exitDiffers   = 2
	exitUnhealthy = 5
)

// Drift compares the clusters with their verified revisions, or with the given one
// when Old names one, and changes nothing. Drift waits until no run works on the
// repository, and supersedes no waiting run. differs reports whether one of the
// clusters differs.
func (p *Pipeline) Drift(ctx context.Context) (record *report.Run, differs bool, err error) {
	release, err := p.Lock(ctx, repository.Drift)
	if err != nil {
		return nil, false, err
	}
	defer release()
	if err := p.prepare(ctx); err != nil {
		return nil, false, err
	}
	targets, err := p.assess(ctx)
	if err != nil {
		return nil, false, err
	}
	record = p.newRun(ctx, targets)
	record.Outcome = report.Passed
	root := p.Spans.Start(nil, "ci drift "+report.Short(p.commit), "revision", p.commit)
	defer func() { root.End(string(record.Outcome), failureOf(record.Outcome, string(record.Outcome))) }()
	for _, t := range targets {
		commit := t.From
		if commit == "" {
			commit = p.commit
		}
		s := &report.Stage{Name: "drift of " + t.Name, Started: p.Now(), Log: logName("drift"), Outcome: report.Passed}
		record.Stages = append(record.Stages, s)
		span := p.Spans.Start(root, s.Name, "stage", s.Name)
		different, err := false, errors.Join(ctx.Err(), distrusted([]*target{t}), unknownCluster(t))
		if err == nil {
			different, err = p.drift(ctx, t, commit, p.newJob("drift", "", span.Environment()))
		}
		s.Seconds = p.Now().Sub(s.Started).Seconds()
		switch {
		case interrupted(ctx, err):
			t.Outcome, s.Outcome, s.Message, record.Outcome = report.Interrupted, report.Interrupted, "interrupted", report.Interrupted
		case err != nil:
			t.Outcome, s.Outcome, s.Message, record.Outcome = report.Failed, report.Failed, p.Mask(err.Error()), report.Failed
		case different:
			differs, t.Outcome = true, "differs"
			s.Message = "the cluster differs from " + report.Short(commit)
		default:
			t.Outcome = report.Nothing
		}
		span.End(string(s.Outcome), failureOf(s.Outcome, s.Message))
	}
	if differs && record.Outcome == report.Passed {
		record.Outcome = "differs"
	}
	record.Seconds = p.Now().Sub(record.Started).Seconds()
	p.out.Flush()
	return record, differs, nil
}

// unknownCluster returns the findings of a target without any revision to compare with: it
// has no verified one, and the inventory of the new one is missing or not valid.
func unknownCluster(t *target) error {
	if t.after == nil && t.From == "" && len(t.Findings) > 0 {
		return &refusedError{t.Findings}
	}
	return nil
}

// drift reports whether a cluster differs from a revision: from its inventory, or in
// the changes that its playbooks would make. drift sets the text of the plans.
func (p *Pipeline) drift(ctx context.Context, t *target, commit string, j job) (differs bool, err error) {
	dir, err := p.checkout(ctx, commit)
	if err != nil {
		return false, err
	}
	text, err := p.deployer(ctx, j, dir, t.Inventory, "apply", "--check", "--detailed-exitcode")
	t.PlanText = p.Mask(text)
	if code := exitCodeOf(err); err != nil && code != exitDiffers && code != exitUnhealthy {
		return false, err
	}
	differs = err != nil
	site, _ := p.site(dir, t.Inventory)
	if site == nil {
		return differs, nil
	}
	out, err := os.MkdirTemp(p.State, "plan-*")
	if err != nil {
		return differs, err
	}
	defer os.RemoveAll(out)
	for _, b := range site.Playbooks {
		text, made, err := p.makePlan(ctx, t, j, dir, filepath.Join(out, "plan.json"), "run", b.File)
		if err != nil {
			return differs, err
		}
		t.PlanText += p.Mask(text)
		differs = differs || len(made.Changes) > 0
	}
	return differs, nil
}
