package repository_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"deployer/ci/repository"
)

// TestAttributesOfARevision: the attributes of a revision that nobody has approved start no filter
// that the user has configured, as Git LFS is. Those of another revision do.
func TestAttributesOfARevision(t *testing.T) {
	dir, _, _ := newRepository(t)
	started, config := filepath.Join(t.TempDir(), "started"), filepath.Join(t.TempDir(), "gitconfig")
	text := "[filter \"lfs\"]\n\tsmudge = \"echo %f >> " + started + "; cat\"\n\trequired = true\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{".gitattributes": "*.yaml filter=lfs working-tree-encoding=UTF-16\n", "vars.yaml": "a: b\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", ".gitattributes")
	git(t, dir, "update-index", "--add", "--cacheinfo", "100644,"+git(t, dir, "hash-object", "-w", "--no-filters", "vars.yaml")+",vars.yaml")
	git(t, dir, "commit", "-q", "-m", "attributes")
	commit := git(t, dir, "rev-parse", "HEAD")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	for _, none := range []bool{true, false} {
		repo, err := repository.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		repo.Unmerged = none
		to := filepath.Join(t.TempDir(), "checkout")
		for range 2 { // written, and used again
			if err := repo.Checkout(t.Context(), commit, to); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(filepath.Join(to, "vars.yaml"))
		if err != nil || none && string(data) != "a: b\n" {
			t.Errorf("without filters %v: %q, %v", none, data, err)
		}
		if _, err := os.Stat(started); none == (err == nil) {
			t.Errorf("without filters %v: the filter was started: %v", none, err == nil)
		}
	}
}

// TestGitDoesNotGetTheKey: a program that git starts to reach a remote has no key of the state.
func TestGitDoesNotGetTheKey(t *testing.T) {
	dir, _, _ := newRepository(t)
	line, _ := repository.NewKey()
	seen, program := filepath.Join(t.TempDir(), "seen"), filepath.Join(t.TempDir(), "ssh")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nenv > "+seen+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSH", program)
	t.Setenv(repository.KeyVariable, line)
	t.Setenv(repository.KeyFileVariable, "/run/secret")
	git(t, dir, "remote", "add", "origin", "ssh://git.invalid/clusters.git")
	if err := newService(t).states(dir).Fetch(t.Context(), "origin"); err == nil {
		t.Fatal("there is no such remote")
	}
	data, err := os.ReadFile(seen)
	if err != nil || strings.Contains(string(data), "DEPLOYER_CI_STATE_KEY") {
		t.Errorf("the program has the key: %v, %v\n%s", err == nil, err, data)
	}
}

// TestLargeRevision: a revision with one file under many names is small in the repository, and large
// when it is checked out.
func TestLargeRevision(t *testing.T) {
	dir, first, _ := newRepository(t)
	file := filepath.Join(t.TempDir(), "zeros")
	if err := os.WriteFile(file, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	blob, index := git(t, dir, "hash-object", "-w", file), filepath.Join(t.TempDir(), "entries")
	var entries strings.Builder
	for i := range 1030 {
		fmt.Fprintf(&entries, "100644 %s\tfile%d\n", blob, i)
	}
	if err := os.WriteFile(index, []byte(entries.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "read-tree", "--empty")
	run(t, dir, "git update-index --index-info < "+index)
	git(t, dir, "commit", "-q", "-m", "large")
	commit := git(t, dir, "rev-parse", "HEAD")
	repo, err := repository.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	repo.Unmerged = true
	to := filepath.Join(t.TempDir(), "checkout")
	if err := repo.Checkout(t.Context(), commit, to); err == nil || !strings.Contains(err.Error(), "its files have more than 4 GiB together") {
		t.Errorf("checked out: %v", err)
	}
	if found, _ := filepath.Glob(filepath.Join(to, "file*")); len(found) > 0 {
		t.Errorf("%d files were written", len(found))
	}
	if err := repo.Checkout(t.Context(), first, to); err != nil {
		t.Errorf("a small revision: %v", err)
	}
}

// run runs a command of the shell.
func run(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}
