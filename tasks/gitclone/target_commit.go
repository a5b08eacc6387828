package gitclone

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"deployer/engine"
	"deployer/tasks/receipt"
)

// target is a resolved version.
type target struct {
	commit string
	branch string // set when the version is a branch
	tag    string // set when the version is a tag
}

func (t target) name() string {
	if t.branch != "" {
		return t.branch
	}
	return t.tag
}

// wanted resolves a version to a commit. A commit id needs no network.
func (g *Git) wanted(ctx context.Context, sys engine.System, have local) (target, error) {
	if raw, err := hex.DecodeString(g.Version); err == nil && len(raw) == 20 {
		if have.commit == "" { // a missing git is reported here, not by Apply
			_, err := g.run(ctx, sys, "version")
			return target{commit: strings.ToLower(g.Version)}, err
		}
		return target{commit: strings.ToLower(g.Version)}, nil
	}
	args := []string{"ls-remote", "--symref", "--", g.Repo, "HEAD"}
	if g.Version != "" && g.Version != "HEAD" {
		args = []string{"ls-remote", "--", g.Repo, "refs/heads/" + g.Version, "refs/tags/" + g.Version, "refs/tags/" + g.Version + "^{}"}
	}
	out, err := g.run(ctx, sys, args...)
	if err != nil {
		return target{}, err
	}
	t := parseRefs(out, g.Version)
	if t.commit == "" {
		return t, fmt.Errorf("%s has no branch or tag %q; a commit must be given with all 40 digits", g.shown(), g.Version)
	}
	return t, nil
}

// parseRefs parses the output of ls-remote. A branch wins over a tag of the same name;
// the commit of an annotated tag is listed under its name with ^{}.
func parseRefs(out, version string) target {
	var t target
	ids := map[string]string{}
	for line := range strings.Lines(out) {
		id, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if link, ok := strings.CutPrefix(id, "ref: refs/heads/"); ok && ref == "HEAD" {
			t.branch = link
			continue
		}
		ids[ref] = id
	}
	if id := ids["HEAD"]; id != "" {
		t.commit = id
		return t
	}
	if id := ids["refs/heads/"+version]; id != "" {
		return target{commit: id, branch: version}
	}
	if id := ids["refs/tags/"+version+"^{}"]; id != "" {
		return target{commit: id, tag: version}
	}
	if id := ids["refs/tags/"+version]; id != "" {
		return target{commit: id, tag: version}
	}
	return target{}
}

// record is the receipt of a clone.
type record struct {
	Commit string `json:"commit"` // of the last checkout
}

func (g *Git) receiptPath() string { return receipt.Path("git", g.Dest) }

// ownCommits reports whether the checked-out commit was made in the clone: neither this
// module has checked it out, nor does any fetched ref contain it.
func (g *Git) ownCommits(ctx context.Context, sys engine.System, have local) (bool, error) {
	var rec record
	if receipt.Read(sys, g.receiptPath(), &rec) && rec.Commit == have.commit {
		return false, nil
	}
	refs, err := g.ask(ctx, sys, "for-each-ref", "--count=1", "--contains="+have.commit, "refs/remotes", "refs/tags")
	return refs == "", err
}
