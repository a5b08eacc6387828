package pipeline

import (
	"context"
	"slices"

	"deployer/ci/change"
	"deployer/ci/report"
	"deployer/ci/repository"
)

// removedClusters returns targets for clusters whose inventory no environment of the new
// revision has, and that deployer.ci.yaml does not declare as removed: the clusters of
// Options.Old when it is given, or all that CI has worked on.
func (p *Pipeline) removedClusters(ctx context.Context, seen map[string]bool) ([]*target, error) {
	if p.Old != "" {
		return p.removedSince(ctx, p.Old, seen)
	}
	inventories, err := p.States.Inventories(ctx)
	if err != nil {
		return nil, err
	}
	var out []*target
	for _, file := range inventories {
		if seen[file] || slices.Contains(p.config.Removed, file) {
			continue
		}
		state, err := p.stateOf(ctx, file)
		if err != nil {
			return nil, err
		}
		t, err := p.removedTarget(ctx, file, state)
		if err != nil {
			return nil, err
		}
		t.addFindings(state.distrust)
		out = append(out, t)
	}
	return out, nil
}

// removedTarget returns the target of a cluster that was deployed and has no inventory any more.
func (p *Pipeline) removedTarget(ctx context.Context, file string, state clusterState) (*target, error) {
	t := &target{state: state, before: &change.Site{Cluster: file},
		Cluster: &report.Cluster{Environment: "-", Inventory: file, Name: file, To: p.commit}}
	commit, err := p.Repository.Commit(ctx, p.lastRevision(state.ClusterState))
	if err == nil && commit != "" { // otherwise the revision was rewritten, and only the path is known
		dir, err := p.checkout(ctx, commit)
		if err != nil {
			return nil, err
		}
		t.From = commit
		if old, err := p.readConfig(dir); err == nil {
			if e, ok := old.EnvironmentOf(file); ok {
				t.Environment, t.environment, t.rules = e.Key, e.Value, pushed(e.Value)
			}
		}
		if before, _ := p.site(dir, file); before != nil {
			t.before = before
		}
	}
	p.refuseRemoval(t)
	return t, nil
}

// lastRevision returns the last revision that had the inventory of a cluster.
func (p *Pipeline) lastRevision(s repository.ClusterState) string {
	if d := s.Deploying; d != nil && !d.Rollback {
		return d.To
	}
	return s.Current()
}

// removedSince returns targets for inventories of a revision that the new one does not have.
func (p *Pipeline) removedSince(ctx context.Context, revision string, seen map[string]bool) ([]*target, error) {
	commit, err := p.Repository.Commit(ctx, revision)
	if err != nil || commit == "" {
		return nil, nil //nolint:nilerr // there is no revision to compare with
	}
	dir, err := p.checkout(ctx, commit)
	if err != nil {
		return nil, err
	}
	old, err := p.readConfig(dir)
	if err != nil {
		return nil, nil //nolint:nilerr // a broken former configuration must not block its repair
	}
	var out []*target
	for _, e := range old.Environments {
		files, err := inventories(dir, e.Value)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if seen[file] || slices.Contains(p.config.Removed, file) {
				continue
			}
			seen[file] = true
			t := &target{environment: e.Value, rules: pushed(e.Value), Cluster: &report.Cluster{Environment: e.Key, Inventory: file, Name: file, From: commit, To: p.commit}}
			if t.before, _ = p.site(dir, file); t.before == nil {
				continue
			}
			p.refuseRemoval(t)
			out = append(out, t)
		}
	}
	return out, nil
}

// refuseRemoval sets the change of a cluster without inventory and its findings.
func (p *Pipeline) refuseRemoval(t *target) {
	if t.rules == nil {
		t.rules = []revisionRules{{}}
	}
	t.Name, t.Change = t.before.Cluster, change.Between(t.before, nil)
	t.derive()
	t.Findings = t.check(p, false, false)
}

// forgetRemoved removes the state of the clusters that deployer.ci.yaml declares as removed
// and whose inventory is gone.
func (p *Pipeline) forgetRemoved(ctx context.Context) error {
	for _, file := range p.config.Removed {
		if exists(p.dir, file) {
			continue
		}
		if err := p.States.Delete(ctx, file); err != nil {
			return err
		}
	}
	return nil
}
