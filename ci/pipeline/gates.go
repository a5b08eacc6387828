package pipeline

import (
	"fmt"
	"slices"

	"deployer/ci/config"
	"deployer/ci/gate"
	"deployer/ci/report"
)

// revisionRules are the gates that a revision has for a cluster.
type revisionRules struct {
	gate.Rules
	revision string // empty for the pushed revision
}

// formerRules returns the gates of the revision that the cluster has, which a push cannot
// loosen for itself. dir is a checkout of that revision.
func (p *Pipeline) formerRules(dir, commit, inventory string) []revisionRules {
	old, err := p.readConfig(dir)
	if err != nil || !exists(dir, inventory) {
		return nil // a broken former configuration must not block its repair
	}
	e, ok := old.EnvironmentOf(inventory)
	if !ok {
		return nil
	}
	return []revisionRules{{e.Value.Gates, commit}}
}

// check applies the gates of all revisions that hold for the cluster. Findings of a former
// revision that the pushed one does not have, or not at that level, name the revision.
func (t *target) check(p *Pipeline, rollback, deploying bool) []gate.Finding {
	var out []gate.Finding
	for _, rules := range t.rules {
		in := t.input(p, rollback)
		in.Rules, in.Deploying = rules.Rules, deploying && len(t.Steps) > 0
		for _, f := range gate.Check(in) {
			i := slices.IndexFunc(out, func(o gate.Finding) bool { return o.Rule == f.Rule && o.Message == f.Message && o.Pos == f.Pos })
			if rules.revision != "" {
				f.Message += fmt.Sprintf(" (gate of %s, the revision that the cluster has: a push keeps the gates before it and its own)", report.Short(rules.revision))
			}
			switch {
			case i < 0:
				out = append(out, f)
			case f.Level == gate.Block && out[i].Level != gate.Block:
				out[i] = f
			}
		}
	}
	return out
}

// addFindings adds findings that the cluster does not have yet.
func (t *target) addFindings(found []gate.Finding) {
	for _, f := range found {
		if !slices.Contains(t.Findings, f) {
			t.Findings = append(t.Findings, f)
		}
	}
}

// holdBack applies the gates of an environment right before its deploy, whichever stages the
// pushed revision has. Its error has the blocking findings of all clusters of the
// environment: they are deployed together.
func (r *run) holdBack(targets []*target) error {
	var found []gate.Finding
	for _, t := range targets {
		t.addFindings(t.check(r.Pipeline, false, true))
		found = append(found, t.Findings...)
	}
	return refusal(found)
}

// keepWindow applies the gate control_plane before a step: a window may have ended
// since the deploy began. keepWindow does not hold back a rollback to a verified
// revision.
func (p *Pipeline) keepWindow(t *target, rollback bool) error {
	if rollback {
		return nil
	}
	found := slices.DeleteFunc(t.check(p, false, false), func(f gate.Finding) bool { return f.Rule != "control_plane" })
	t.addFindings(found)
	return refusal(found)
}

// refusal returns an error with the findings that block; nil for none.
func refusal(found []gate.Finding) error {
	var blocking []gate.Finding
	for _, f := range found {
		if f.Level == gate.Block && !slices.Contains(blocking, f) {
			blocking = append(blocking, f)
		}
	}
	if blocking == nil {
		return nil
	}
	return &refusedError{blocking}
}

// pushed returns the gates of the pushed revision.
func pushed(e config.Environment) []revisionRules { return []revisionRules{{Rules: e.Gates}} }
