package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"deployer/ci/config"
	"deployer/ci/gate"
	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/engine/sanitize"
	"deployer/project"
	"deployer/strictyaml"
)

// clusterState is the state of a cluster of which only trusted revisions are left.
type clusterState struct {
	repository.ClusterState
	// distrust has the reason why nothing of the state was taken; nil for a state that was.
	distrust []gate.Finding
	// outside is true when revisions that are not part of the branch were left out, because
	// Options.Old names the revision that the cluster has.
	outside bool
}

// stateOf returns the state of the cluster of an inventory. A state that is not authentic, and one
// that names revisions outside of the branch, has findings instead: nothing of it is used, because
// its revisions would be checked out and executed. With Options.Old a person has said which
// revision the cluster has, so that only the revisions outside of the branch are left out.
func (p *Pipeline) stateOf(ctx context.Context, inventory string) (clusterState, error) {
	distrusted := func(message, advice string) clusterState {
		return clusterState{distrust: []gate.Finding{{Rule: "state", Level: gate.Block, Pos: strictyaml.Pos{File: inventory}, Message: message, Advice: advice}}}
	}
	state, err := p.States.Get(ctx, inventory)
	var untrusted *repository.UntrustedError
	switch {
	case errors.As(err, &untrusted):
		return distrusted(untrusted.Error(), untrusted.Advice()), nil
	case err != nil:
		return clusterState{}, err
	}
	outside, err := p.outsideOfBranch(ctx, &state)
	if err != nil || len(outside) == 0 || p.Old != "" {
		return clusterState{ClusterState: state, outside: len(outside) > 0}, err
	}
	return distrusted(fmt.Sprintf("the state of %s names %s, outside of the branch %s: its history was rewritten, or another branch was deployed", inventory, strings.Join(outside, ", "), p.branch(ctx)),
		"merge the revision; or name the revision that the cluster has with `deployer ci run --old REVISION`, which may be one of these"), nil
}

// outsideOfBranch removes the revisions that are not part of the branch from a state, and returns
// those of them on which the next deploy would be based.
func (p *Pipeline) outsideOfBranch(ctx context.Context, s *repository.ClusterState) (outside []string, err error) {
	check := func(commit string) bool {
		ok, checkErr := p.IsMerged(ctx, commit)
		err = errors.Join(err, checkErr)
		if !ok && !slices.Contains(outside, report.Short(commit)) {
			outside = append(outside, report.Short(commit))
		}
		return ok
	}
	if len(s.Verified) > 0 && !check(s.Verified[0]) {
		s.Unchanged, s.Approved = "", ""
	}
	for d := s.Deploying; d != nil; d = d.After {
		if from := d.From == "" || check(d.From); !check(d.To) || !from {
			s.Deploying, s.Approved = nil, ""
			break
		}
	}
	s.Verified = slices.DeleteFunc(s.Verified, func(commit string) bool {
		ok, checkErr := p.IsMerged(ctx, commit)
		err = errors.Join(err, checkErr)
		return !ok
	})
	if s.Unchanged != "" {
		ok, checkErr := p.IsMerged(ctx, s.Unchanged)
		if err = errors.Join(err, checkErr); !ok {
			s.Unchanged = ""
		}
	}
	return outside, err
}

// IsMerged reports whether a commit is part of the branch that is deployed, or of the new
// revision.
func (p *Pipeline) IsMerged(ctx context.Context, commit string) (bool, error) {
	if known, ok := p.merged[commit]; ok {
		return known, nil
	}
	ok := false
	if repository.ObjectName(commit) {
		tips := []string{p.commit}
		if tip := p.Repository.Tip(ctx, p.branch(ctx)); tip != "" {
			tips = append(tips, tip)
		}
		var err error
		if ok, err = p.Repository.Merged(ctx, commit, tips...); err != nil && ctx.Err() != nil {
			return false, err // otherwise the repository does not have the commit
		}
	}
	p.merged[commit] = ok
	return ok, nil
}

// branch returns the branch that is deployed; empty when HEAD is detached and no option names it.
func (p *Pipeline) branch(ctx context.Context) string {
	if p.Branch != "" {
		return p.Branch
	}
	return p.Repository.Head(ctx)
}

// WithStates calls do while no run works on the repository, with the states that its remote keeps.
func (p *Pipeline) WithStates(ctx context.Context, do func() error) error {
	release, err := p.Lock(ctx, repository.Drift)
	if err != nil {
		return err
	}
	defer release()
	if err := p.load(ctx); err != nil {
		return err
	}
	if err := p.fetchStates(ctx); err != nil {
		return err
	}
	return do()
}

// fetchStates reads the states from the remote that keeps them.
func (p *Pipeline) fetchStates(ctx context.Context) error {
	if p.config.Remote == "" {
		return nil
	}
	if err := p.States.Fetch(ctx, p.config.Remote); err != nil {
		return project.AsUserError(fmt.Errorf("reading the state of runs (remote of %s): %w", config.File, err))
	}
	return nil
}

// idle reports whether a run has nothing to do for the cluster. A cluster whose state has revisions
// outside of the branch is verified, so that its state gets a revision of the branch.
func (t *target) idle() bool {
	return t.Change.Nothing() && t.state.Deploying == nil && !t.state.outside
}

// distrusted returns an error with the reasons why states of clusters were not taken; nil for
// none. Nothing may be executed for these clusters.
func distrusted(targets []*target) error {
	var lines []string
	for _, t := range targets {
		for _, f := range t.state.distrust {
			lines = append(lines, sanitize.Line(f.String()))
		}
	}
	if lines == nil {
		return nil
	}
	return project.AsUserError(errors.New(strings.Join(lines, "\n")))
}
