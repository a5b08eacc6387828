package pipeline

import (
	"context"
	"errors"
	"fmt"

	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/project"
)

// Rollback takes clusters back to their last verified revision, or to the given one,
// which must be verified too. inventory limits it to one cluster; empty means all. A
// named cluster that already has its last verified revision returns to the verified
// revision before it. A rollback that did not complete is continued.
func (p *Pipeline) Rollback(ctx context.Context, inventory, to string) (*report.Run, error) {
	targets, end, err := p.begin(ctx, repository.Rollback)
	if err != nil {
		return nil, err
	}
	defer end()
	r := &run{Pipeline: p, record: p.newRun(ctx, nil), targets: nil}
	known := inventory == ""
	for _, t := range targets {
		if inventory != "" && t.Inventory != inventory {
			continue
		}
		known = true
		back, err := p.rollbackTarget(ctx, t, inventory != "", to)
		if err != nil {
			return nil, err
		}
		if back == nil {
			continue
		}
		r.targets, r.record.Clusters = append(r.targets, back), append(r.record.Clusters, back.Cluster)
	}
	if !known {
		return nil, project.AsUserError(fmt.Errorf("no environment has an inventory %s", inventory))
	}
	if len(r.targets) == 0 && inventory == "" && to == "" {
		p.printf("nothing to do: every cluster has its verified revision; name an inventory to go to the one before\n")
	}
	var failed error
	r.span = p.Spans.Start(nil, "ci rollback "+report.Short(p.commit), "revision", p.commit)
	for _, t := range r.targets {
		s := &report.Stage{Name: "rollback " + t.Name, Started: p.Now(), Log: logName("rollback"), Outcome: report.Passed}
		r.record.Stages = append(r.record.Stages, s)
		t.Outcome = report.RolledBack
		span := p.Spans.Start(r.span, s.Name, "stage", s.Name)
		err := ctx.Err()
		if err == nil {
			err = p.goBack(ctx, t, t.From, t.To, p.newJob("rollback", "", span.Environment()))
		}
		switch {
		case interrupted(ctx, err):
			t.Outcome, s.Outcome, s.Message = report.Interrupted, report.Interrupted, errInterrupted.Error()
			failed = errors.Join(failed, errInterrupted)
		case err != nil:
			t.Outcome, s.Outcome, s.Message = report.Failed, report.Failed, p.Mask(err.Error())
			failed = errors.Join(failed, err)
		}
		s.Seconds = p.Now().Sub(s.Started).Seconds()
		span.End(string(s.Outcome), s.Message)
	}
	r.record.Seconds = p.Now().Sub(r.record.Started).Seconds()
	switch {
	case errors.Is(failed, errInterrupted):
		r.record.Outcome = report.Interrupted
	case failed != nil:
		r.record.Outcome = report.Failed
	case len(r.targets) > 0:
		r.record.Outcome = report.RolledBack
	default:
		r.record.Outcome = report.Nothing
	}
	r.span.End(string(r.record.Outcome), p.messageOf(failed))
	p.out.Flush()
	return r.record, nil
}

// messageOf returns the text of an error with secrets masked; empty for nil.
func (p *Pipeline) messageOf(err error) string {
	if err == nil {
		return ""
	}
	return p.Mask(err.Error())
}

// rollbackTarget returns the cluster with the revisions of the rollback; nil when the
// cluster already has the revision.
func (p *Pipeline) rollbackTarget(ctx context.Context, t *target, named bool, to string) (*target, error) {
	if err := distrusted([]*target{t}); err != nil {
		return nil, err
	}
	from := t.state.LastVerified()
	was := t.state.Deploying
	if was != nil {
		from = was.To
	}
	verified := t.state.Verified
	switch {
	case to != "":
		commit, err := p.Repository.Commit(ctx, to)
		if err != nil {
			return nil, project.AsUserError(err)
		}
		to = ""
		for _, v := range verified {
			if v == commit {
				to = v
			}
		}
		if to == "" {
			return nil, project.AsUserError(fmt.Errorf("%s was never verified on %s; verified: %v", report.Short(commit), t.Name, verified))
		}
	case was != nil && was.Rollback:
		to = was.To // which has begun
	case was != nil && len(verified) > 0:
		to = verified[0]
	case named && len(verified) > 1:
		to = verified[1]
	case named:
		return nil, project.AsUserError(fmt.Errorf("%s has no earlier verified revision", t.Name))
	}
	if was != nil && was.Rollback && was.To == to {
		from = was.From // the same rollback is continued
	}
	if to == "" || to == from {
		return nil, nil
	}
	return p.wayBack(ctx, t, from, to)
}
