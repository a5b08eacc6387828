package pipeline

import (
	"context"

	"deployer/ci/change"
)

// continueFrom replaces the change of a cluster by the change from the state that an
// interrupted deploy of another revision has left: hosts may have joined that the new
// revision does not name, or have left that it names. A deploy of the same revision
// is continued with its own steps, computed in the same way.
func (p *Pipeline) continueFrom(ctx context.Context, t *target) error {
	was := t.state.Deploying
	if was != nil && was.To == p.commit {
		was = was.After
	}
	if was == nil {
		return nil
	}
	d := change.Interrupted{Begun: was.Begun, Done: was.Done}
	for _, line := range was.Steps {
		d.Steps = append(d.Steps, change.ParseStep(line))
	}
	for _, revision := range []struct {
		commit string
		site   **change.Site
	}{{t.state.LastVerified(), &d.Verified}, {was.From, &d.Before}, {was.To, &d.Wanted}} {
		commit, err := p.Repository.Commit(ctx, revision.commit)
		if err != nil || commit == "" {
			continue // none, or rewritten
		}
		dir, err := p.checkout(ctx, commit)
		if err != nil {
			return err
		}
		*revision.site, _ = p.site(dir, t.Inventory)
	}
	if d.Wanted == nil || d.Before == nil && was.From != "" {
		return nil // only the verified revision is known
	}
	t.Change = d.ChangeTo(t.after)
	t.before, _ = d.Present()
	t.From = was.From
	switch {
	case t.Change.First:
		t.before = nil
	case d.OldSite(t.Change) == d.Wanted:
		t.From = was.To
	}
	interrupted := *was
	interrupted.After = nil
	t.interrupted = &interrupted
	return nil
}
