package pipeline

import (
	"context"
	"fmt"
	"slices"

	"deployer/ci/gate"
	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/strictyaml"
)

// refuseOlder adds a finding to each cluster that has a revision after the pushed
// one, as when an earlier pipeline is run again: the deploy would take back the later
// revisions.
func (p *Pipeline) refuseOlder(ctx context.Context, targets []*target) error {
	if p.AllowOlder || p.Old != "" {
		return nil
	}
	for _, t := range targets {
		if t.after == nil || t.Change.Nothing() {
			continue
		}
		newer, err := p.newerRevision(ctx, t.state.ClusterState)
		if err != nil {
			return err
		}
		if newer == "" {
			continue
		}
		t.addFindings([]gate.Finding{{Rule: "older_revision", Level: gate.Block, Pos: strictyaml.Pos{File: t.Inventory},
			Message: fmt.Sprintf("%s is older than %s, the revision that the cluster has or was about to get: the deploy would take the changes after it back", report.Short(p.commit), report.Short(newer)),
			Advice:  fmt.Sprintf("deploy the newest revision; to go back, revert the commits, or run `deployer ci rollback %s --to REVISION` with a verified revision; --allow-older deploys this one", t.Inventory)}})
	}
	return nil
}

// newerRevision returns a revision of a cluster that comes after the commit of the pipeline;
// empty for none.
func (p *Pipeline) newerRevision(ctx context.Context, s repository.ClusterState) (string, error) {
	known := []string{s.Current()}
	if d := s.Deploying; d != nil && !d.Rollback {
		known = append(known, d.To)
	}
	for _, revision := range slices.DeleteFunc(known, func(r string) bool { return r == "" || r == p.commit }) {
		commit, err := p.Repository.Commit(ctx, revision)
		if err != nil {
			continue // the newer revision was rewritten, so it does not come after this one
		}
		if before, err := p.Repository.IsAncestor(ctx, p.commit, commit); err != nil || before {
			return commit, err
		}
	}
	return "", nil
}
