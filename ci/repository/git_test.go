package repository_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/ci/repository"
)

// TestConfigurationStartsNoProgram works on a repository whose configuration and hooks others
// have written: none of the programs that they name is started.
func TestConfigurationStartsNoProgram(t *testing.T) {
	dir, first, _ := newRepository(t)
	bare, evil := filepath.Join(t.TempDir(), "bare.git"), t.TempDir()
	git(t, dir, "clone", "-q", "--bare", dir, bare)
	git(t, dir, "remote", "add", "origin", bare)
	program := filepath.Join(evil, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >> "+evil+"/started\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"reference-transaction", "post-checkout", "post-index-change", "pre-push", "pre-auto-gc"} {
		if err := os.Symlink(program, filepath.Join(dir, ".git", "hooks", hook)); err != nil {
			t.Fatal(err)
		}
	}
	signed := signedCommit(t, dir, first)
	for key, value := range map[string]string{"core.fsmonitor": program, "core.pager": program, "core.editor": program, "core.sshCommand": program,
		"core.alternateRefsCommand": program, "diff.external": program, "gpg.program": program, "log.showSignature": "true", "push.gpgSign": "if-asked",
		"uploadpack.packObjectsHook": program, "core.gitProxy": program, "protocol.ext.allow": "always"} {
		git(t, dir, "config", key, value)
	}
	repo, err := repository.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if repo.Subject(t.Context(), signed) != "signed" {
		t.Errorf("subject %q", repo.Subject(t.Context(), signed))
	}
	if commit, err := repo.Commit(t.Context(), "main"); err != nil || repo.Head(t.Context()) != "main" {
		t.Errorf("%s, %v", commit, err)
	}
	if ok, err := repo.Merged(t.Context(), first, signed); err != nil || !ok {
		t.Errorf("%v, %v", ok, err)
	}
	for range 2 {
		if err := repo.Checkout(t.Context(), first, filepath.Join(evil, "checkout")); err != nil {
			t.Fatal(err)
		}
	}
	states := newService(t).fetched(dir)
	if err := states.Set(t.Context(), inventory, verified(first)); err != nil {
		t.Fatal(err)
	}
	if err := states.Delete(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
	if started, err := os.ReadFile(filepath.Join(evil, "started")); err == nil {
		t.Errorf("started:\n%s", started)
	}
	git(t, dir, "config", "remote.evil.url", "ext::"+program)
	if err := newService(t).states(dir).Fetch(t.Context(), "evil"); err == nil || !strings.Contains(err.Error(), "transport 'ext' not allowed") {
		t.Errorf("a remote that is a program: %v", err)
	}
}

// signedCommit returns a commit with a signature, for which git log starts gpg.program.
func signedCommit(t *testing.T, dir, parent string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "commit")
	text := "tree " + git(t, dir, "rev-parse", parent+"^{tree}") + "\nparent " + parent + "\nauthor t <t@example.org> 1 +0000\ncommitter t <t@example.org> 1 +0000\n" +
		"gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return git(t, dir, "hash-object", "-t", "commit", "-w", file)
}

// TestRefsOfOthersChangeNoRevision pushes refs that git prefers to the branch, and one that puts
// another commit in the place of the branch's.
func TestRefsOfOthersChangeNoRevision(t *testing.T) {
	dir, _, merged := newRepository(t)
	git(t, dir, "checkout", "-q", "-b", "feature")
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "commit", "-q", "-a", "-m", "evil")
	evil := git(t, dir, "rev-parse", "HEAD")
	for _, ref := range []string{"refs/main", "refs/tags/main", "refs/remotes/main", "refs/tags/" + merged, "refs/heads/" + merged, "refs/heads/HEAD", "refs/heads/refs/heads/main", "refs/replace/" + merged} {
		git(t, dir, "update-ref", ref, evil)
	}
	git(t, dir, "symbolic-ref", "HEAD", "refs/heads/main")
	repo, err := repository.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main", "refs/heads/main", "HEAD", merged, "HEAD~0", "main~0", merged + "~0"} {
		if got, err := repo.Commit(t.Context(), name); err != nil || got != merged {
			t.Errorf("%s is %s, want %s; %v", name, got, merged, err)
		}
	}
	if ok, err := repo.Merged(t.Context(), evil, merged); err != nil || ok {
		t.Errorf("the commit of the feature is merged: %v, %v", ok, err)
	}
	to := filepath.Join(t.TempDir(), "checkout")
	if err := repo.Checkout(t.Context(), merged, to); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(to, "file")); err != nil || string(data) != "second" {
		t.Errorf("the checkout has %q, %v", data, err)
	}
	if err := repo.Checkout(t.Context(), "main", to); err == nil {
		t.Error("a name was checked out")
	}
}

// TestIdentity: two clones of one repository, with different tokens of jobs, have one identity.
func TestIdentity(t *testing.T) {
	identity := func(remote string) string {
		t.Helper()
		dir, _, _ := newRepository(t)
		if remote != "" {
			git(t, dir, "remote", "add", "origin", remote)
		}
		repo, err := repository.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return repo.Identity(t.Context())
	}
	one, two := identity("https://ci:first@git.example.org/a.git"), identity("https://ci:second@git.example.org/a.git")
	if one != two || one == identity("https://git.example.org/b.git") {
		t.Errorf("identities %s and %s", one, two)
	}
	if one, two := identity(""), identity(""); one == two {
		t.Errorf("two repositories without a remote are %s", one)
	}
}
