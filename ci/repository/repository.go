// Package repository reads revisions of a git repository and keeps the state of CI runs in
// it. The package runs the program git: pushes need it anyway, and it knows every form of a
// repository (bare, shallow, with alternates, in the quarantine of a hook).
//
// [Open] finds the repository, [Repository.Checkout] writes a revision to a directory of
// its own, so that the work tree of a person stays as it is, and [States] reads and writes the
// signed states of clusters, as refs below refs/deployer/. Refs, configuration and objects come
// from people who push, so [command] is the one place that starts git.
package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Repository is a git repository on this machine.
type Repository struct {
	// Dir is the absolute path of the directory with the objects (.git, or the bare repository).
	Dir string
	// Unmerged is true for checkouts of revisions that nobody has approved: their attributes start
	// no filter of the user's configuration, such as that of Git LFS, which asks a server that the
	// revision names, so that files have the content of the repository; and they have a maximum size.
	Unmerged bool
}

// Open returns the repository of a directory: a work tree, a directory in one, or a bare
// repository.
func Open(ctx context.Context, dir string) (*Repository, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("the program git is needed to read revisions: install the package git")
	}
	out, err := git(ctx, dir, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, fmt.Errorf("opening the repository %s: %w", dir, err)
	}
	return &Repository{Dir: out}, nil
}

// ObjectName reports whether a text is the full name of an object.
func ObjectName(text string) bool { return objectName.MatchString(text) }

var objectName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// unambiguous matches revisions that git does not look up among several refs.
var unambiguous = regexp.MustCompile(`^(([0-9a-f]{40}|[0-9a-f]{64}|HEAD)([~^@].*)?|refs/.*)$`)

// Commit returns the full name of the commit of a revision. Commit returns "" for an empty name
// and for a name of zeros, which git gives to a branch that does not exist.
//
// The name of a branch means the branch: git would prefer a tag with that name, or the ref
// refs/NAME, which people may push who may not push to the branch.
func (r *Repository) Commit(ctx context.Context, revision string) (string, error) {
	if strings.Trim(revision, "0") == "" {
		return "", nil
	}
	names := []string{"refs/heads/" + revision, "refs/remotes/" + revision, revision}
	if unambiguous.MatchString(revision) {
		names = names[2:]
	}
	for _, name := range names {
		if out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}"); err == nil {
			return out, nil
		}
	}
	return "", fmt.Errorf("there is no revision %q in %s: fetch it (a shallow clone has few), or name another one", revision, r.Dir)
}

// IsAncestor reports whether a commit is a different one that comes after another commit.
func (r *Repository) IsAncestor(ctx context.Context, before, after string) (bool, error) {
	if before == after {
		return false, nil
	}
	base, err := r.git(ctx, "rev-list", "--max-count=1", "--end-of-options", before, "^"+after)
	return err == nil && base == "", err
}

// Merged reports whether a commit is one of the tips or comes before one of them. A commit or a tip
// that the repository does not have is an error.
func (r *Repository) Merged(ctx context.Context, commit string, tips ...string) (bool, error) {
	args := []string{"rev-list", "--max-count=1", "--end-of-options", commit}
	for _, tip := range tips {
		args = append(args, "^"+tip)
	}
	beyond, err := r.git(ctx, args...)
	return err == nil && beyond == "", err
}

// Head returns the branch of HEAD, such as main; empty when HEAD is detached.
func (r *Repository) Head(ctx context.Context) string {
	out, err := r.git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return ""
	}
	return out
}

// Tip returns the commit of a branch: of the branch itself, or of the one that the remote origin
// has where the branch is not checked out; empty for none.
func (r *Repository) Tip(ctx context.Context, branch string) string {
	for _, ref := range []string{"refs/heads/" + branch, "refs/remotes/origin/" + branch} {
		if out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}"); err == nil {
			return out
		}
	}
	return ""
}

// Subject returns the first line of the message of a commit.
func (r *Repository) Subject(ctx context.Context, commit string) string {
	out, err := r.git(ctx, "log", "-1", "--format=%s", "--end-of-options", commit)
	if err != nil {
		return ""
	}
	return out
}

// Checkout writes the files of a commit to the directory dir, which becomes a work tree of
// its own that shares the objects of the repository. A directory that has the commit
// already is used as it is. Hooks and configuration of the repository do not reach it.
func (r *Repository) Checkout(ctx context.Context, commit, dir string) error {
	if !ObjectName(commit) {
		return fmt.Errorf("checking out %q: want the full name of a commit", commit)
	}
	if head, err := git(ctx, dir, "rev-parse", "HEAD"); err == nil && head == commit && isTop(ctx, dir) {
		if _, err := git(ctx, dir, "reset", "--quiet", "--hard"); err == nil {
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
	if _, err := git(ctx, filepath.Dir(dir), "init", "--quiet", "--template=", "--object-format="+format, dir); err != nil {
		return err
	}
	if err := r.share(ctx, filepath.Join(dir, ".git")); err != nil {
		return fmt.Errorf("checking out %s: %w", commit, err)
	}
	if r.Unmerged {
		if err := r.requireSize(ctx, commit); err != nil {
			return err
		}
		if err := withoutFilters(filepath.Join(dir, ".git")); err != nil {
			return fmt.Errorf("checking out %s: %w", commit, err)
		}
	}
	_, err = git(ctx, dir, "checkout", "--quiet", "--force", "--detach", commit)
	return err
}

// maxCheckout is the maximum number of bytes of the files of a revision that nobody has approved.
// git compresses them: a push of some megabytes could fill the disk of the machine that checks it.
const maxCheckout = 4 << 30

// requireSize returns an error for a commit whose files are larger than maxCheckout.
func (r *Repository) requireSize(ctx context.Context, commit string) error {
	out, err := r.git(ctx, "ls-tree", "-r", "--format=%(objectsize)", "--end-of-options", commit)
	if err != nil {
		return err
	}
	total := int64(0)
	for line := range strings.Lines(out) {
		size, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			continue // a submodule has none
		}
		if total += size; total > maxCheckout {
			return fmt.Errorf("checking out %s: its files have more than %d GiB together: a revision that is not merged is not checked then; keep large files elsewhere", commit, int64(maxCheckout)>>30)
		}
	}
	return nil
}

// withoutFilters gives a repository attributes that win over those of its files.
func withoutFilters(dir string) error {
	info := filepath.Join(dir, "info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "attributes"), []byte("* -filter -working-tree-encoding\n"), 0o644)
}

func isTop(ctx context.Context, dir string) bool {
	top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
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
	for _, variable := range objectVariables {
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
