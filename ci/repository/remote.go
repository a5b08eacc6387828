package repository

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// stateRefs matches the refs that keep the state of clusters.
const stateRefs = "refs/deployer/*"

// Fetch takes over the states that a remote keeps, and from now on writes states there, too. The
// remote must be one of the repository's configuration: any other text could be an address or an
// option of git.
func (s *States) Fetch(ctx context.Context, remote string) error {
	out, err := s.repo.git(ctx, "remote")
	if err != nil {
		return err
	}
	if names := strings.Fields(out); !slices.Contains(names, remote) {
		return fmt.Errorf("the repository %s has no remote %q (it has: %s): name one of them, or add it with git remote add", s.repo.Dir, remote, strings.Join(names, ", "))
	}
	if s.fetched, err = s.remoteRefs(ctx, remote, stateRefs); err != nil {
		return err
	}
	s.remote = remote
	_, err = s.repo.gitRemote(ctx, "fetch", "--quiet", "--force", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--end-of-options", remote, stateRefs+":"+stateRefs)
	return err
}

// push writes the refs of a cluster that have changed since Fetch or the last push to the remote,
// and only when the remote has the objects that this repository knows: another run that has
// changed them meanwhile keeps its state, and the error says so.
func (s *States) push(ctx context.Context, inventory string) error {
	if s.remote == "" {
		return nil
	}
	args := []string{"push", "--quiet", "--porcelain", "--atomic", "--no-follow-tags", "--no-recurse-submodules"}
	var specs []string
	changed := map[string]string{}
	for _, ref := range clusterRefs(inventory) {
		object, err := s.repo.git(ctx, "rev-parse", "--verify", "--quiet", ref)
		if err != nil {
			object = "" // the ref was deleted, or never existed
		}
		if object == s.fetched[ref] {
			continue
		}
		changed[ref] = object
		args = append(args, "--force-with-lease="+ref+":"+s.fetched[ref])
		specs = append(specs, object+":"+ref)
	}
	if len(specs) == 0 {
		return nil
	}
	if _, err := s.repo.gitRemote(ctx, append(append(args, "--end-of-options", s.remote), specs...)...); err != nil {
		return s.explainPush(ctx, inventory, changed, err)
	}
	maps.Copy(s.fetched, changed)
	return nil
}

// explainPush returns the error of a push, with the reason when the remote has other refs
// than this repository knows.
func (s *States) explainPush(ctx context.Context, inventory string, refs map[string]string, failed error) error {
	there, err := s.remoteRefs(ctx, s.remote, slices.Sorted(maps.Keys(refs))...)
	if err != nil {
		return fmt.Errorf("pushing the state of %s to %s: %w", inventory, s.remote, failed)
	}
	for ref := range refs {
		if there[ref] != s.fetched[ref] {
			return fmt.Errorf("pushing the state of %s to %s: another run has changed %s since this run read it: let only one runner deploy at a time, wait for the end of the other run, then run this one again, which continues from the state that is there", inventory, s.remote, ref)
		}
	}
	return fmt.Errorf("pushing the state of %s to %s, which needs the permission to push %s: %w", inventory, s.remote, stateRefs, failed)
}

// remoteRefs returns the objects of the refs of a remote that match one of the patterns.
func (s *States) remoteRefs(ctx context.Context, remote string, patterns ...string) (map[string]string, error) {
	out, err := s.repo.gitRemote(ctx, append([]string{"ls-remote", "--end-of-options", remote}, patterns...)...)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if object, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			refs[ref] = object
		}
	}
	return refs, nil
}
