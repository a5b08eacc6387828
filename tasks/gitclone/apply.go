package gitclone

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"deployer/engine"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// Apply fetches the version and checks it out. Each part can be repeated, so the next
// run continues after a kill.
func (g *Git) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	have, err := g.look(ctx, sys)
	if err != nil {
		return nil, err
	}
	want, err := g.wanted(ctx, sys, have)
	if err != nil {
		return nil, err
	}
	if err := g.mayLose(ctx, sys, have); err != nil {
		return nil, err
	}
	if err := sys.MarkIrreversible(g.Dest, lost(have)); err != nil {
		return nil, err
	}
	if err := g.prepare(ctx, sys, have); err != nil {
		return nil, err
	}
	if err := g.fetch(ctx, sys, want); err != nil {
		return nil, err
	}
	if err := g.checkout(ctx, sys, want); err != nil {
		return nil, err
	}
	if err := receipt.Write(sys, g.receiptPath(), record{Commit: want.commit}); err != nil {
		return nil, err
	}
	return engine.Output{"before": have.commit, "after": want.commit}, nil
}

// lost describes what a revert does with the clone.
func lost(have local) string {
	if have.commit == "" {
		return "the clone stays: remove it with the module absent"
	}
	return fmt.Sprintf("the clone stays as it is: it was at commit %s", have.commit)
}

// prepare creates an empty repository with its origin.
func (g *Git) prepare(ctx context.Context, sys engine.System, have local) error {
	if !have.clone {
		above, err := hostfile.MakeDir(sys, filepath.Dir(g.Dest))
		if err != nil {
			return err
		}
		defer above.Close()
		if _, err := g.run(ctx, sys, "init", "--quiet", "--", sys.Path(g.Dest)); err != nil {
			return err
		}
		if err := above.Sync(); err != nil {
			return err
		}
	}
	if have.origin == g.Repo {
		return nil
	}
	verb := "add"
	if have.origin != "" {
		verb = "set-url"
	}
	_, err := g.in(ctx, sys, "remote", verb, "origin", g.Repo)
	return err
}

// fetch fetches the commit: its branch or tag, or the commit itself, or everything when
// the server does not serve single commits.
func (g *Git) fetch(ctx context.Context, sys engine.System, want target) error {
	args := []string{"fetch", "--quiet", "--force", "--no-recurse-submodules"}
	if g.Depth > 0 {
		args = append(args, "--depth="+strconv.Itoa(g.Depth))
	}
	args = append(args, "origin")
	var err error
	switch {
	case want.branch != "":
		_, err = g.in(ctx, sys, append(args, "+refs/heads/"+want.branch+":refs/remotes/origin/"+want.branch)...)
	case want.tag != "":
		_, err = g.in(ctx, sys, append(args, "+refs/tags/"+want.tag+":refs/tags/"+want.tag)...)
	default:
		if g.has(ctx, sys, want.commit) {
			return nil
		}
		if _, err = g.in(ctx, sys, append(args, want.commit)...); err != nil {
			_, err = g.in(ctx, sys, "fetch", "--quiet", "--force", "--tags", "--no-recurse-submodules", "origin", "+refs/heads/*:refs/remotes/origin/*")
		}
	}
	if err != nil {
		return err
	}
	if !g.has(ctx, sys, want.commit) {
		return fmt.Errorf("%s has no commit %s; a branch may have changed during the run: run it again", g.shown(), want.commit)
	}
	return nil
}

func (g *Git) has(ctx context.Context, sys engine.System, commit string) bool {
	_, err := g.in(ctx, sys, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

func (g *Git) checkout(ctx context.Context, sys engine.System, want target) error {
	args := []string{"checkout", "--quiet"}
	if g.Force {
		args = append(args, "--force")
	}
	if want.branch != "" {
		args = append(args, "-B", want.branch)
	} else {
		args = append(args, "--detach")
	}
	if _, err := g.in(ctx, sys, append(args, want.commit, "--")...); err != nil {
		return err
	}
	if !g.Submodules {
		return nil
	}
	args = []string{"submodule", "--quiet", "update", "--init", "--recursive"}
	if g.Depth > 0 {
		args = append(args, "--depth="+strconv.Itoa(g.Depth))
	}
	if g.Force {
		args = append(args, "--force")
	}
	_, err := g.in(ctx, sys, args...)
	return err
}
