package pipeline

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"deployer/ci/change"
	"deployer/ci/config"
	"deployer/ci/gate"
	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/strictyaml"
)

// target is a cluster of a run with what the pipeline needs to work on it.
type target struct {
	*report.Cluster
	environment   config.Environment
	rules         []revisionRules // of the pushed revision, and of the one that the cluster has
	state         clusterState
	before, after *change.Site
	// interrupted is a deploy of another revision that did not complete; nil for none.
	interrupted *repository.Deploying
	planFile    string
	pushPlan    string // digest of the plans of all clusters of the push; empty without a plan
}

// Assess compares the clusters of the new revision with their present revisions, and
// applies the gates. Assess contacts no host, takes no lock and writes nothing but
// checkouts.
func (p *Pipeline) Assess(ctx context.Context) (*report.Run, error) {
	if err := p.load(ctx); err != nil {
		return nil, err
	}
	targets, err := p.assess(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.refuseOlder(ctx, targets); err != nil {
		return nil, err
	}
	run := p.newRun(ctx, targets)
	run.Outcome = report.Passed
	if gate.Blocked(run.Findings()) {
		run.Outcome = report.Refused
	}
	run.Seconds = p.Now().Sub(run.Started).Seconds()
	return run, nil
}

func (p *Pipeline) newRun(ctx context.Context, targets []*target) *report.Run {
	run := &report.Run{Format: 1, Started: p.Now(), Revision: p.commit, Subject: p.Repository.Subject(ctx, p.commit)}
	for _, t := range targets {
		run.Clusters = append(run.Clusters, t.Cluster)
	}
	return run
}

// assess returns the clusters of all environments, in the order of the environments.
func (p *Pipeline) assess(ctx context.Context) ([]*target, error) {
	var out []*target
	seen := map[string]bool{}
	for _, e := range p.config.Environments {
		files, err := inventories(p.dir, e.Value)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			t := p.emptyEnvironment(e)
			out = append(out, t)
		}
		for _, file := range files {
			if seen[file] {
				continue // the cluster belongs to the environment that is deployed first
			}
			seen[file] = true
			t, err := p.assessCluster(ctx, e, file)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	removed, err := p.removedClusters(ctx, seen)
	out[0].addFindings(p.ignoredSettings())
	return append(out, removed...), err
}

// ignoredSettings returns a finding for each key of the configuration that has no effect any more.
func (p *Pipeline) ignoredSettings() []gate.Finding {
	if p.config.Metrics == "" {
		return nil
	}
	return []gate.Finding{{Rule: "configuration", Level: gate.Advise, Pos: strictyaml.Pos{File: config.File},
		Message: "metrics is ignored: a revision may not name a file of the runner",
		Advice:  "remove the key, and name the file with --metrics or $DEPLOYER_CI_METRICS_FILE of the runner"}}
}

// emptyEnvironment returns a target with a finding for an environment whose patterns match
// no inventory.
func (p *Pipeline) emptyEnvironment(e strictyaml.Entry[config.Environment]) *target {
	pos := e.Pos
	if pos.File == "" {
		pos.File = config.File
	}
	return &target{Cluster: &report.Cluster{Environment: e.Key, Name: "-", To: p.commit, Findings: []gate.Finding{{
		Rule: "validation", Level: gate.Block, Pos: pos,
		Message: "environment " + e.Key + ": there is no file " + strings.Join(e.Value.Inventories, ", "),
		Advice:  "name inventories of the repository under environments",
	}}}, environment: e.Value}
}

// assessCluster compares one inventory with the revision that its cluster has.
func (p *Pipeline) assessCluster(ctx context.Context, e strictyaml.Entry[config.Environment], file string) (*target, error) {
	state, err := p.stateOf(ctx, file)
	if err != nil {
		return nil, err
	}
	t := &target{environment: e.Value, rules: pushed(e.Value), state: state,
		Cluster: &report.Cluster{Environment: e.Key, Inventory: file, Name: file, To: p.commit}}
	t.From = p.base(ctx, state.ClusterState)
	var found []gate.Finding
	t.after, found = p.site(p.dir, file)
	t.Findings = found
	t.addFindings(state.distrust)
	if t.after == nil {
		return t, nil
	}
	t.Name = t.after.Cluster
	if t.From != "" {
		dir, err := p.checkout(ctx, t.From)
		if err != nil {
			return nil, err
		}
		var broken []gate.Finding
		if t.before, broken = p.site(dir, file); t.before == nil && len(broken) > 0 && broken[0].Rule == "validation" && exists(dir, file) {
			t.Findings = append(t.Findings, gate.Finding{Rule: "validation", Level: gate.Advise, Pos: broken[0].Pos,
				Message: "the revision " + report.Short(t.From) + " that the cluster has is not valid: " + broken[0].Message,
				Advice:  "hosts that leave cannot be found; take them out with deployer scale-down"})
		}
	}
	if err := p.addFormerRules(ctx, t); err != nil {
		return nil, err
	}
	t.Change = change.Between(t.before, t.after)
	if p.Old == "" {
		if err := p.continueFrom(ctx, t); err != nil {
			return nil, err
		}
	}
	t.derive()
	t.Findings = append(t.Findings, t.check(p, false, false)...)
	return t, nil
}

// addFormerRules adds the gates of the revision that the cluster has: that of the
// base, or a later one that changed only gates.
func (p *Pipeline) addFormerRules(ctx context.Context, t *target) error {
	commit := t.From
	if t.state.Unchanged != "" && p.Old == "" {
		if unchanged, err := p.Repository.Commit(ctx, t.state.Unchanged); err == nil {
			commit = unchanged
		}
	}
	if commit == "" {
		return nil
	}
	dir, err := p.checkout(ctx, commit)
	if err == nil {
		t.rules = append(t.rules, p.formerRules(dir, commit, t.Inventory)...)
	}
	return err
}

// derive sets the steps and the numbers of hosts from the change.
func (t *target) derive() {
	t.Steps = t.Change.Steps()
	for i, s := range t.Steps {
		if s.Verb() == change.VerbUpgrade {
			t.Steps[i].Args = append(slices.Clone(s.Args), t.upgradeArgs()...)
		}
	}
	if t.Touched = 0; !t.Change.Nothing() {
		t.Touched = len(t.Change.Touched(t.before, t.after))
	}
	if t.Hosts = 0; t.after != nil {
		t.Hosts = len(t.after.Hosts)
	}
}

// commandLines returns the steps in the form that the state of a deploy has.
func (t *target) commandLines() []string {
	out := make([]string, len(t.Steps))
	for i, s := range t.Steps {
		out[i] = s.String()
	}
	return out
}

// upgradeArgs returns the flags of upgrade. The path of a rollout plan is relative to the
// checkout, in which steps run: a step is the same on every machine.
func (t *target) upgradeArgs() []string {
	args := slices.Clone(t.environment.UpgradeArgs)
	if t.environment.Rollout != "" {
		args = append(args, "--rollout", filepath.FromSlash(t.environment.Rollout))
	}
	return args
}

func (t *target) input(p *Pipeline, rollback bool) gate.Input {
	in := gate.Input{Change: t.Change, Old: t.before, New: t.after, Now: p.Now(), Rollback: rollback, Plan: t.pushPlan, Approved: p.Approved}
	if t.approvedBefore() {
		in.Approved = in.Plan
	}
	return in
}

// base returns the commit that a cluster has: Options.Old, the last verified commit, or the
// commit before the push. For an interrupted deploy it is the commit that the deploy started
// from.
func (p *Pipeline) base(ctx context.Context, s repository.ClusterState) string {
	given := p.Old
	switch {
	case given != "":
	case s.Deploying != nil:
		given = s.Deploying.From
	case s.LastVerified() != "":
		given = s.LastVerified()
	default:
		given = p.Before
	}
	commit, err := p.Repository.Commit(ctx, given)
	if err != nil {
		return "" // the revision was rewritten: all is new, and apply finds the differences
	}
	return commit
}
