package repository

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// ClusterState is the state of a cluster between runs, a blob below refs/deployer/state/.
type ClusterState struct {
	// Verified are the commits that were deployed and passed verify, the newest first.
	Verified []string `json:"verified,omitempty"`
	// Unchanged is the newest commit since the last verified one that changes nothing of the
	// cluster; empty for none. Its gates hold for the next push.
	Unchanged string `json:"unchanged,omitempty"`
	// Deploying is a deploy that has begun and not ended with a verified cluster; nil for none.
	Deploying *Deploying `json:"deploying,omitempty"`
	// Approved is the digest of the cluster's plan that was approved and is not verified yet.
	Approved string `json:"approved,omitempty"`
}

// Deploying is the progress of one deploy.
type Deploying struct {
	From string `json:"from"` // commit that the change starts from; empty for a new cluster
	To   string `json:"to"`
	// Steps are the command lines to carry out, Begun how many of them were started, and
	// Done how many have succeeded.
	Steps []string `json:"steps"`
	Begun int      `json:"begun"`
	Done  int      `json:"done"`
	// Rollback is true for a rollback to a verified commit.
	Rollback bool `json:"rollback,omitempty"`
	// After is the interrupted deploy that this one followed, and whose effects its steps
	// take into account; nil for none. Its own After is nil.
	After *Deploying `json:"after,omitempty"`
	// Deployed is true when all steps have succeeded and only verify is left.
	Deployed bool `json:"deployed,omitempty"`
}

// Interrupted reports whether a step was started that has not succeeded.
func (d *Deploying) Interrupted() bool { return d.Begun > d.Done }

// maxVerified is the number of verified commits that are kept for each cluster.
const maxVerified = 10

// LastVerified returns the newest verified commit; empty for none.
func (s ClusterState) LastVerified() string {
	if len(s.Verified) == 0 {
		return ""
	}
	return s.Verified[0]
}

// Current returns the newest commit that the cluster is known to have: Unchanged, or the last
// verified one; empty for none.
func (s ClusterState) Current() string {
	if s.Unchanged != "" {
		return s.Unchanged
	}
	return s.LastVerified()
}

// Verify records a verified commit and ends the deploy.
func (s *ClusterState) Verify(commit string) {
	kept := []string{commit}
	for _, v := range s.Verified {
		if v != commit && len(kept) < maxVerified {
			kept = append(kept, v)
		}
	}
	s.Verified, s.Unchanged, s.Deploying, s.Approved = kept, "", nil, ""
}

// refName returns the part of a ref that stands for an inventory: its path in one component,
// because git cannot have the refs a and a/b at the same time. Bytes that a ref may not have,
// and slashes, are %XX as in URLs, so that no two inventories share a ref.
func refName(inventory string) string {
	var b strings.Builder
	for i := range len(inventory) {
		c := inventory[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-' && i > 0, c == '.' && dotAllowed(inventory, i):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// dotAllowed reports whether git allows the dot at an index of a component of a ref: not at
// an end, not after another dot, not in the suffix .lock.
func dotAllowed(name string, i int) bool {
	return i > 0 && i < len(name)-1 && name[i-1] != '.' && name[i:] != ".lock"
}

func stateRef(inventory string) string { return "refs/deployer/state/" + refName(inventory) }

func verifiedRef(inventory string) string { return "refs/deployer/verified/" + refName(inventory) }

// State returns the state of the cluster of an inventory; the zero value for an unknown one.
func (r *Repository) State(ctx context.Context, inventory string) (ClusterState, error) {
	var s ClusterState
	if _, err := r.git(ctx, "rev-parse", "--verify", "--quiet", stateRef(inventory)); err != nil {
		return s, nil //nolint:nilerr // no such ref: the state of the cluster is unknown
	}
	text, err := r.git(ctx, "cat-file", "blob", stateRef(inventory))
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	if err != nil {
		return s, fmt.Errorf("reading %s: %w", stateRef(inventory), err)
	}
	return s, nil
}

// Inventories returns the inventories of all clusters with a state, sorted.
func (r *Repository) Inventories(ctx context.Context) ([]string, error) {
	prefix := stateRef("")
	out, err := r.git(ctx, "for-each-ref", "--format=%(refname)", prefix)
	if err != nil {
		return nil, err
	}
	var inventories []string
	for ref := range strings.Lines(out) {
		inventory, err := url.PathUnescape(strings.TrimPrefix(strings.TrimSpace(ref), prefix))
		if err != nil {
			return nil, fmt.Errorf("the ref %s names no inventory: %w", strings.TrimSpace(ref), err)
		}
		inventories = append(inventories, inventory)
	}
	slices.Sort(inventories)
	return inventories, nil
}

// DeleteState removes the state of a cluster; PushState then removes it from the remote.
func (r *Repository) DeleteState(ctx context.Context, inventory string) error {
	for _, ref := range clusterRefs(inventory) {
		if _, err := r.git(ctx, "update-ref", "-d", ref); err != nil {
			return err
		}
	}
	return nil
}

// clusterRefs returns the refs of a cluster.
func clusterRefs(inventory string) []string {
	return []string{stateRef(inventory), verifiedRef(inventory)}
}

// SetState writes the state of a cluster. A ref keeps the last verified commit from being
// collected as garbage.
func (r *Repository) SetState(ctx context.Context, inventory string, s ClusterState) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	blob, err := r.gitWith(ctx, append(data, '\n'), "hash-object", "-w", "--stdin")
	if err != nil {
		return fmt.Errorf("writing %s: %w", stateRef(inventory), err)
	}
	if _, err := r.git(ctx, "update-ref", stateRef(inventory), blob); err != nil {
		return err
	}
	if v := s.LastVerified(); v != "" {
		_, err = r.git(ctx, "update-ref", verifiedRef(inventory), v)
	}
	return err
}

// stateRefs matches the refs that keep the state of clusters.
const stateRefs = "refs/deployer/*"

// FetchState takes over the state that a remote keeps. PushState compares the remote with
// what this call has read.
func (r *Repository) FetchState(ctx context.Context, remote string) error {
	var err error
	if r.fetched, err = r.remoteRefs(ctx, remote, stateRefs); err != nil {
		return err
	}
	_, err = r.git(ctx, "fetch", "--quiet", "--force", remote, stateRefs+":"+stateRefs)
	return err
}

// PushState writes the state of the cluster of an inventory to a remote. PushState
// writes the refs that have changed since FetchState or the last PushState, and only
// when the remote has the objects that this repository knows: another run that has
// changed them meanwhile keeps its state, and the error says so.
func (r *Repository) PushState(ctx context.Context, remote, inventory string) error {
	args := []string{"push", "--quiet", "--porcelain", "--atomic"}
	var specs []string
	changed := map[string]string{}
	for _, ref := range clusterRefs(inventory) {
		object, err := r.git(ctx, "rev-parse", "--verify", "--quiet", ref)
		if err != nil {
			object = "" // the ref was deleted, or never existed
		}
		if object == r.fetched[ref] {
			continue
		}
		changed[ref] = object
		args = append(args, "--force-with-lease="+ref+":"+r.fetched[ref])
		specs = append(specs, object+":"+ref)
	}
	if len(specs) == 0 {
		return nil
	}
	if _, err := r.git(ctx, append(append(args, remote), specs...)...); err != nil {
		return r.explainPush(ctx, remote, inventory, changed, err)
	}
	if r.fetched == nil {
		r.fetched = map[string]string{}
	}
	maps.Copy(r.fetched, changed)
	return nil
}

// explainPush returns the error of a push, with the reason when the remote has other refs
// than this repository knows.
func (r *Repository) explainPush(ctx context.Context, remote, inventory string, refs map[string]string, failed error) error {
	there, err := r.remoteRefs(ctx, remote, slices.Sorted(maps.Keys(refs))...)
	if err != nil {
		return fmt.Errorf("pushing the state of %s to %s: %w", inventory, remote, failed)
	}
	for ref := range refs {
		if there[ref] != r.fetched[ref] {
			return fmt.Errorf("pushing the state of %s to %s: another run has changed %s since this run read it: let only one runner deploy at a time, wait for the end of the other run, then run this one again, which continues from the state that is there", inventory, remote, ref)
		}
	}
	return fmt.Errorf("pushing the state of %s to %s, which needs the permission to push %s: %w", inventory, remote, stateRefs, failed)
}

// remoteRefs returns the objects of the refs of a remote that match one of the patterns.
func (r *Repository) remoteRefs(ctx context.Context, remote string, patterns ...string) (map[string]string, error) {
	out, err := r.git(ctx, append([]string{"ls-remote", remote}, patterns...)...)
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
