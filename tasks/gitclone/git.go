// Package gitclone has the module for clones of git repositories. The package uses the host's git
// program.
package gitclone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// Git manages a clone of a repository at a branch, tag or commit.
type Git struct {
	Repo       string `yaml:"repo" rule:"repository" required:"true" doc:"address of the repository: https, ssh, git or a path on the host"`
	Dest       string `yaml:"dest" rule:"path" required:"true" doc:"absolute path of the clone; it must not exist, be empty, or be a clone already"`
	Version    string `yaml:"version" rule:"revision" doc:"branch, tag, or whole commit id of 40 digits; default the repository's default branch"`
	Depth      int    `yaml:"depth" range:"0.." doc:"number of commits of the history to fetch; default all"`
	Update     *bool  `yaml:"update" doc:"false: keep an existing clone at its commit; default true"`
	Force      bool   `yaml:"force" doc:"discard changes and commits in the clone; default false: they are an error. Untracked files stay"`
	Submodules bool   `yaml:"submodules" doc:"fetch submodules too, at all depths; default false"`
	KeyFile    string `yaml:"key_file" rule:"path" doc:"absolute path on the host of the private SSH key; no other is tried then"`
	AcceptNew  bool   `yaml:"accept_new_host_key" doc:"accept an unknown SSH host key of the server; a changed key is still refused. Default false"`
}

var _ engine.Module = (*Git)(nil)

// RunsPrograms reports that another user may run this module: git does all the writing.
func (*Git) RunsPrograms() {}

// Valid implements engine.Validator.
func (g *Git) Valid() error {
	switch {
	case !filepath.IsAbs(g.Dest):
		return fmt.Errorf("dest %q is not an absolute path", g.Dest)
	case g.Repo == "" || strings.HasPrefix(g.Repo, "-"):
		return fmt.Errorf("repo %q is not an address", g.Repo)
	case strings.HasPrefix(g.Version, "-") || strings.ContainsAny(g.Version, " \t\n~^:?*[\\"):
		return fmt.Errorf("version %q is not a name of a branch, tag or commit", g.Version)
	case g.Depth < 0:
		return errors.New("depth cannot be negative")
	case g.KeyFile != "" && !filepath.IsAbs(g.KeyFile):
		return fmt.Errorf("key_file %q is not an absolute path", g.KeyFile)
	}
	return nil
}

// local is the state of the clone.
type local struct {
	clone   bool   // a clone exists, maybe an incomplete one
	commit  string // checked out; empty without one
	origin  string // address of the repository
	changed string // first lines of the differences from the commit
}

// look reads the state of the clone. look runs git only for what files do not show.
func (g *Git) look(ctx context.Context, sys engine.System) (local, error) {
	if _, err := hostfile.Resolve(sys, g.Dest, false); err != nil {
		return local{}, err
	}
	entries, err := os.ReadDir(sys.Path(g.Dest))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return local{}, nil
	}
	if err != nil {
		return local{}, err
	}
	if _, err := os.Lstat(filepath.Join(sys.Path(g.Dest), ".git")); err != nil {
		return local{}, fmt.Errorf("%s is neither empty nor a clone: remove it, or choose another dest", g.Dest)
	}
	have := local{clone: true}
	if have.origin, err = g.ask(ctx, sys, "config", "--get", "remote.origin.url"); err != nil {
		return local{}, err
	}
	if have.commit, err = g.ask(ctx, sys, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil || have.commit == "" {
		return have, err
	}
	have.changed, err = g.ask(ctx, sys, "status", "--porcelain", "--untracked-files=no")
	return have, err
}

// Check resolves the version at the repository, without fetching.
func (g *Git) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := g.Valid(); err != nil {
		return engine.Change{}, err
	}
	have, err := g.look(ctx, sys)
	if err != nil {
		return engine.Change{}, err
	}
	out := engine.Output{"before": have.commit, "after": have.commit}
	if have.commit != "" && g.Update != nil && !*g.Update {
		return engine.NoChange(out), nil
	}
	want, err := g.wanted(ctx, sys, have)
	if errors.Is(err, errNoGit) { // an earlier step may install it; otherwise Apply fails
		return engine.Changed(g.effect("clone " + g.shown())), nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	action := g.action(have, want)
	if action == "" {
		return engine.NoChange(out), nil
	}
	if err := g.mayLose(ctx, sys, have); err != nil {
		return engine.Change{}, err
	}
	change := engine.Changed(g.effect(action))
	out["after"] = want.commit
	change.Output = out
	return change, nil
}

func (g *Git) effect(action string) engine.Effect {
	return engine.Effect{Kind: engine.EffectFile, Target: g.Dest, Action: action}
}

// action describes the needed operation; empty when nothing is needed.
func (g *Git) action(have local, want target) string {
	at := fmt.Sprintf("%s (%.10s)", cmp.Or(want.name(), "commit"), want.commit)
	switch {
	case have.commit == "":
		return "clone " + g.shown() + " at " + at
	case have.commit != want.commit:
		return fmt.Sprintf("update from %.10s to %s", have.commit, at)
	case have.origin != g.Repo:
		return fmt.Sprintf("make it a clone of %s instead of %s", g.shown(), redacted(have.origin))
	case have.changed != "" && g.Force:
		return "throw away local changes: " + strings.ReplaceAll(have.changed, "\n", ",")
	}
	return ""
}

// mayLose returns an error when local changes or commits would be lost.
func (g *Git) mayLose(ctx context.Context, sys engine.System, have local) error {
	if g.Force || have.commit == "" {
		return nil
	}
	if have.changed != "" {
		return &engine.Failure{
			Message: g.Dest + " has local changes: commit them elsewhere, or say force: true to throw them away", Detail: have.changed,
		}
	}
	own, err := g.ownCommits(ctx, sys, have)
	if err == nil && own {
		err = fmt.Errorf("%s is at commit %.10s, which no fetched branch or tag contains: push it, or set force: true to leave it", g.Dest, have.commit)
	}
	return err
}
