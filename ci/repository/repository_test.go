package repository_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/ci/repository"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// newRepository returns a work tree with two commits.
func newRepository(t *testing.T) (dir, first, second string) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	commit := func(text string) string {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "add", "file")
		git(t, dir, "commit", "-q", "-m", text)
		return git(t, dir, "rev-parse", "HEAD")
	}
	return dir, commit("first"), commit("second")
}

func TestCheckoutLeavesTheWorkTreeAlone(t *testing.T) {
	dir, first, _ := newRepository(t)
	shallow := filepath.Join(t.TempDir(), "shallow")
	git(t, dir, "clone", "-q", "--depth", "1", "file://"+dir, shallow)
	for _, from := range []string{dir, shallow} {
		repo, err := repository.Open(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, "file"), []byte("edited"), 0o600); err != nil {
			t.Fatal(err)
		}
		want, revision := "first", first
		if from == shallow {
			if _, err := repo.Commit(t.Context(), first); err == nil || !strings.Contains(err.Error(), "there is no revision") {
				t.Errorf("a commit that a shallow clone lacks: %v", err)
			}
			want, revision = "second", "HEAD"
		}
		commit, err := repo.Commit(t.Context(), revision)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "checkouts", commit)
		for range 2 { // the second checkout finds the first one, with a changed file
			if err := repo.Checkout(t.Context(), commit, to); err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(filepath.Join(to, "file")); err != nil || string(data) != want {
				t.Errorf("%q, %v", data, err)
			}
			if err := os.WriteFile(filepath.Join(to, "file"), []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if data, _ := os.ReadFile(filepath.Join(from, "file")); string(data) != "edited" {
			t.Errorf("the work tree has %q", data)
		}
	}
}

func TestCommitOfNothing(t *testing.T) {
	dir, _, _ := newRepository(t)
	repo, err := repository.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, none := range []string{"", strings.Repeat("0", 40)} {
		if got, err := repo.Commit(t.Context(), none); got != "" || err != nil {
			t.Errorf("%q: %q, %v", none, got, err)
		}
	}
	if _, err := repo.Commit(t.Context(), "--all"); err == nil {
		t.Error("a flag was taken for a revision")
	}
	if _, err := repository.Open(t.Context(), t.TempDir()); err == nil {
		t.Error("a directory without a repository was opened")
	}
}

func TestIsAncestor(t *testing.T) {
	dir, first, second := newRepository(t)
	repo, err := repository.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "checkout", "-q", "--detach", first)
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "side")
	side := git(t, dir, "rev-parse", "HEAD")
	for _, c := range []struct {
		before, after string
		want          bool
	}{{first, second, true}, {second, first, false}, {first, first, false}, {side, second, false}, {second, side, false}} {
		if got, err := repo.IsAncestor(t.Context(), c.before, c.after); err != nil || got != c.want {
			t.Errorf("%s before %s: %v, %v", c.before, c.after, got, err)
		}
	}
	if _, err := repo.IsAncestor(t.Context(), strings.Repeat("1", 40), second); err == nil {
		t.Error("an unknown commit has no error")
	}
}

func TestLockEndsWithItsHolder(t *testing.T) {
	dir := t.TempDir()
	silent := func(string) {}
	release, err := repository.Lock(t.Context(), dir, repository.Push, "first", silent)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	holder := ""
	if _, err := repository.Lock(ctx, dir, repository.Push, "second", func(h string) { holder = h }); !errors.Is(err, context.DeadlineExceeded) || holder != "push first" {
		t.Errorf("second: %v, holder %q", err, holder)
	}
	release()
	release, err = repository.Lock(t.Context(), dir, repository.Push, "third", silent)
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// TestRollbacksAndPushesDoNotSupersedeEachOther: two pushes and two rollbacks wait. Both
// rollbacks run, then the newer push; the older push is superseded by the newer one only.
func TestRollbacksAndPushesDoNotSupersedeEachOther(t *testing.T) {
	dir := t.TempDir()
	release, err := repository.Lock(t.Context(), dir, repository.Push, "holder", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []string
	results := map[string]chan error{}
	for _, run := range []struct {
		kind repository.Kind
		name string
	}{{repository.Push, "push 1"}, {repository.Rollback, "rollback 1"}, {repository.Push, "push 2"}, {repository.Rollback, "rollback 2"}} {
		waits, result := make(chan struct{}), make(chan error, 1)
		results[run.name] = result
		go func() {
			end, err := repository.Lock(t.Context(), dir, run.kind, run.name, func(string) { close(waits) })
			if err == nil {
				mu.Lock()
				order = append(order, strings.TrimRight(run.name, " 12"))
				mu.Unlock()
				end()
			}
			result <- err
		}()
		<-waits
	}
	var superseded *repository.SupersededError
	if err := <-results["push 1"]; !errors.As(err, &superseded) || superseded.By != "push 2" {
		t.Errorf("push 1: %v", err)
	}
	release()
	for _, name := range []string{"rollback 1", "rollback 2", "push 2"} {
		if err := <-results[name]; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if want := []string{"rollback", "rollback", "push"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
}
