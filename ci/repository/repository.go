// Package repository reads revisions of a git repository and keeps the state of CI runs in
// it. The package runs the program git: pushes need it anyway, and it knows every form of a
// repository (bare, shallow, with alternates, in the quarantine of a hook).
//
// [Open] finds the repository, [Repository.Checkout] writes a revision to a directory of
// its own, so that the work tree of a person stays as it is, and [Repository.State] and
// [Repository.SetState] read and write the state of a cluster, as refs below
// refs/deployer/.
package repository

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Repository is a git repository on this machine.
type Repository struct {
	// Dir is the absolute path of the directory with the objects (.git, or the bare repository).
	Dir string
	// fetched are the objects that the refs of the remote had when they were last read or
	// written. FetchState and PushState must not run at the same time.
	fetched map[string]string
}

// Open returns the repository of a directory: a work tree, a directory in one, or a bare
// repository.
func Open(ctx context.Context, dir string) (*Repository, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("the program git is needed to read revisions: install the package git")
	}
	out, err := git(ctx, dir, nil, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, fmt.Errorf("opening the repository %s: %w", dir, err)
	}
	return &Repository{Dir: out}, nil
}

// git runs git in a directory and returns its output without the last newline.
func git(ctx context.Context, dir string, stdin []byte, args ...string) (string, error) {
	return run(ctx, withoutHook(os.Environ()), dir, stdin, args...)
}

func run(ctx context.Context, environ []string, dir string, stdin []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	cmd.Env = append(environ, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(stderr.String())
		if text == "" {
			text = err.Error()
		}
		if strings.HasPrefix(args[0], "--git-dir=") {
			args = args[1:]
		}
		return "", fmt.Errorf("git %s: %s", args[0], text)
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// git runs git on the repository. Within a hook it sees the objects of the push.
func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	return r.gitWith(ctx, nil, args...)
}

func (r *Repository) gitWith(ctx context.Context, stdin []byte, args ...string) (string, error) {
	return run(ctx, os.Environ(), r.Dir, stdin, append([]string{"--git-dir=" + r.Dir}, args...)...)
}

// Commit returns the full name of the commit of a revision. Commit returns "" for an empty name
// and for a name of zeros, which git gives to a branch that does not exist.
func (r *Repository) Commit(ctx context.Context, revision string) (string, error) {
	if strings.Trim(revision, "0") == "" {
		return "", nil
	}
	out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("there is no revision %q in %s: fetch it (a shallow clone has few), or name another one", revision, r.Dir)
	}
	return out, nil
}

// IsAncestor reports whether a commit is a different one that comes after another commit.
func (r *Repository) IsAncestor(ctx context.Context, before, after string) (bool, error) {
	if before == after {
		return false, nil
	}
	base, err := r.git(ctx, "rev-list", "--max-count=1", before, "^"+after)
	return err == nil && base == "", err
}

// Head returns the branch of HEAD, such as main; empty when HEAD is detached.
func (r *Repository) Head(ctx context.Context) string {
	out, err := r.git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return ""
	}
	return out
}

// Subject returns the first line of the message of a commit.
func (r *Repository) Subject(ctx context.Context, commit string) string {
	out, err := r.git(ctx, "log", "-1", "--format=%s", commit)
	if err != nil {
		return ""
	}
	return out
}

// Checkout writes the files of a commit to the directory dir, which becomes a work tree of
// its own that shares the objects of the repository. A directory that has the commit
// already is used as it is. Hooks and configuration of the repository do not reach it.
func (r *Repository) Checkout(ctx context.Context, commit, dir string) error {
	if head, err := git(ctx, dir, nil, "rev-parse", "HEAD"); err == nil && head == commit && isTop(ctx, dir) {
		if _, err := git(ctx, dir, nil, "reset", "--quiet", "--hard"); err == nil {
			return nil
		} // otherwise the checkout was interrupted
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	format, err := r.git(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	if _, err := git(ctx, filepath.Dir(dir), nil, "init", "--quiet", "--template=", "--object-format="+format, dir); err != nil {
		return err
	}
	if err := r.share(ctx, filepath.Join(dir, ".git")); err != nil {
		return fmt.Errorf("checking out %s: %w", commit, err)
	}
	_, err = git(ctx, dir, nil, "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", "--detach", commit)
	return err
}

func isTop(ctx context.Context, dir string) bool {
	top, err := git(ctx, dir, nil, "rev-parse", "--show-toplevel")
	real, realErr := filepath.EvalSymlinks(dir)
	return err == nil && realErr == nil && top == real
}

// share lets a new repository read the objects of this one, with the objects of a push that a hook is
// deciding about included.
func (r *Repository) share(ctx context.Context, dir string) error {
	objects, err := r.git(ctx, "rev-parse", "--git-path", "objects")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(objects) {
		objects = filepath.Join(r.Dir, objects)
	}
	from := []string{objects}
	for _, variable := range []string{"GIT_OBJECT_DIRECTORY", "GIT_QUARANTINE_PATH", "GIT_ALTERNATE_OBJECT_DIRECTORIES"} {
		for _, path := range filepath.SplitList(os.Getenv(variable)) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(r.Dir, path)
			}
			from = append(from, path)
		}
	}
	info := filepath.Join(dir, "objects", "info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(strings.Join(from, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	shallow, err := os.ReadFile(filepath.Join(r.Dir, "shallow"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "shallow"), shallow, 0o644)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// withoutHook returns an environment without the variables that git sets for hooks, which
// would lead a git of another repository to this one.
func withoutHook(environ []string) []string {
	var out []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_PREFIX", "GIT_COMMON_DIR":
		default:
			out = append(out, v)
		}
	}
	return out
}

// Environment returns the environment of commands that run in a checkout.
func Environment() []string { return withoutHook(os.Environ()) }
