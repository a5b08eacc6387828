package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"deployer/ci/change"
	"deployer/ci/gate"
	"deployer/engine/plan"
	"deployer/strictyaml"
)

// exitRefused is the exit code of verbs that refuse before any change.
const exitRefused = 4

// plan contacts the hosts of a cluster: it makes the plan of an apply, and checks
// whether hosts can leave. plan sets the digest that the gate approved_plan compares.
func (p *Pipeline) plan(ctx context.Context, t *target, j job) error {
	if t.Change.Nothing() || t.after == nil {
		return nil
	}
	var plans []any
	done := t.done()
	for i, s := range t.Steps {
		switch {
		case i < done: // a host that has left cannot be checked again
		case s.Verb() == change.VerbScaleDown:
			if err := p.checkLeaving(ctx, t, s, j); err != nil {
				return err
			}
		case len(t.Steps) == 1 && s.Verb() == change.VerbApply && !t.Change.First:
			made, err := p.planOnly(ctx, t, j, "install")
			if err != nil {
				return err
			}
			plans = append(plans, made)
		case len(t.Steps) == 1 && s.Verb() == change.VerbRun:
			made, err := p.planOnly(ctx, t, j, s.Args...)
			if err != nil {
				return err
			}
			plans = append(plans, made)
		}
	}
	t.Plan = digestOf(t, plans)
	j.printf("%s: plan %s\n", t.Name, t.Plan)
	return nil
}

// checkLeaving checks on the cluster whether hosts can leave.
func (p *Pipeline) checkLeaving(ctx context.Context, t *target, s change.Step, j job) error {
	dir, err := p.checkout(ctx, t.From)
	if err != nil {
		return err
	}
	args := slices.DeleteFunc(slices.Clone(s.Args), func(a string) bool { return a == "--yes" || a == "--allow-masters" })
	_, err = p.deployer(ctx, j, dir, t.Inventory, append(args, "--check")...)
	if exitCodeOf(err) != exitRefused {
		return err
	}
	var pos strictyaml.Pos
	if hosts := append(slices.Clone(t.Change.Leaving), t.Change.Demoted...); len(hosts) > 0 {
		pos = hosts[0].Pos
	}
	t.Findings = append(t.Findings, gate.Finding{Rule: "data_loss", Level: gate.Block, Pos: pos,
		Message: "the cluster has reasons against the departure: " + err.Error(), Advice: "remove the reasons, then run the pipeline again"})
	return nil
}

// planOnly makes the plan that the deploy executes when it has one step. verb are the words
// of deployer plan.
func (p *Pipeline) planOnly(ctx context.Context, t *target, j job, verb ...string) (any, error) {
	file := filepath.Join(p.State, "plans", p.commit, filepath.FromSlash(t.Inventory), "plan.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	text, made, err := p.makePlan(ctx, t, j, p.dir, file, verb...)
	if err != nil {
		return nil, err
	}
	t.planFile, t.PlanText = file, p.secrets.Text(text)
	// Two plans of the same changes are the same plan, whoever made them, when and where.
	made.Made, made.By, made.Files, made.Invocation.Inventory, made.Invocation.Playbook = time.Time{}, "", nil, "", ""
	return made, nil
}

// makePlan makes the plan of a verb in a checkout, writes it to a file, and returns it with
// its text.
func (p *Pipeline) makePlan(ctx context.Context, t *target, j job, dir, file string, verb ...string) (text string, made plan.Plan, err error) {
	text, err = p.deployer(ctx, j, dir, t.Inventory, append(append([]string{"plan"}, verb...), "-o", file)...)
	if err != nil {
		return "", made, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", made, err
	}
	return text, made, json.Unmarshal(data, &made)
}

// digestOf returns the digest of the changes that a deploy would make to a cluster.
func digestOf(t *target, plans []any) string {
	data, err := json.Marshal(map[string]any{"cluster": t.Name, "inventory": t.Inventory, "steps": t.commandLines(), "versions": t.Change.Versions, "playbooks": t.Change.Playbooks,
		"settings": settingsOf(t), "plans": plans})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// settingsOf returns the settings and playbooks with their digests: two pushes that change
// the same key in different ways have different plans.
func settingsOf(t *target) map[string]string {
	out := map[string]string{}
	for _, s := range t.after.Settings {
		out[s.Key] = s.Digest
	}
	for _, p := range t.after.Playbooks {
		out["playbook "+p.File] = p.Digest
	}
	for _, h := range t.after.Hosts {
		for _, s := range h.Settings {
			out[h.Name+" "+s.Key] = s.Digest
		}
	}
	return out
}
