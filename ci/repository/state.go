package repository

import (
	"fmt"
	"net/url"
	"strings"
)

// ClusterState is the state of a cluster between runs; see SignedState.
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
	// Runs are the ids that the runs of the step in progress got before they started, the newest
	// last.
	Runs []string `json:"runs,omitempty"`
	// Upgrade are the ids of the runs of the upgrade that a step of rollback reverts, the newest
	// first, from before the step starts until it has succeeded; otherwise nil.
	Upgrade []string `json:"upgrade,omitempty"`
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

// inventoryOf returns the inventory of a name that refName has made.
func inventoryOf(name string) (string, error) {
	inventory, err := url.PathUnescape(name)
	if err != nil {
		return "", fmt.Errorf("the ref %s names no inventory: %w", stateRef("")+name, err)
	}
	return inventory, nil
}

// clusterRefs returns the refs of a cluster.
func clusterRefs(inventory string) []string {
	return []string{stateRef(inventory), verifiedRef(inventory)}
}
