package repository_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"deployer/ci/repository"
)

func nameOf(t *testing.T, dir, variable string) (string, error) {
	t.Helper()
	repo, err := repository.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return repo.StateName(t.Context(), func(name string) string {
		if name == repository.NameVariable {
			return variable
		}
		return ""
	})
}

// TestStateName: clones of a repository by any way have one name, which the service can choose.
func TestStateName(t *testing.T) {
	dir, _, _ := newRepository(t)
	if name, err := nameOf(t, dir, ""); err != nil || name != dir {
		t.Errorf("without a remote: %q, %v; want %q", name, err, dir)
	}
	git(t, dir, "remote", "add", "origin", "x")
	for address, want := range map[string]string{
		"https://gitlab-ci-token:hunter2@git.example/ops/clusters.git": "git.example/ops/clusters",
		"https://git.example/ops/clusters/":                            "git.example/ops/clusters",
		"ssh://git@git.example/ops/clusters.git":                       "git.example/ops/clusters",
		"git@git.example:ops/clusters.git":                             "git.example/ops/clusters",
		"git@git.example:/ops/clusters.git":                            "git.example/ops/clusters",
		"http://git.example:3000/ops/clusters":                         "git.example:3000/ops/clusters",
		"/srv/git/clusters.git":                                        "/srv/git/clusters",
		"file:///srv/git/clusters.git":                                 "/srv/git/clusters",
		"../bare.git":                                                  filepath.Join(filepath.Dir(dir), "bare"),
	} {
		git(t, dir, "remote", "set-url", "origin", address)
		if name, err := nameOf(t, dir, ""); err != nil || name != want {
			t.Errorf("%s: %q, %v; want %q", address, name, err, want)
		}
	}
	git(t, dir, "config", "deployer.stateRepository", "prod clusters")
	if name, err := nameOf(t, dir, ""); err != nil || name != "prod clusters" {
		t.Errorf("configured: %q, %v", name, err)
	}
	if name, err := nameOf(t, dir, "berlin"); err != nil || name != "berlin" {
		t.Errorf("of the environment: %q, %v", name, err)
	}
	for _, bad := range []string{"a\nb", "\x1b[2J", strings.Repeat("x", 301)} {
		if name, err := nameOf(t, dir, bad); err == nil || !strings.Contains(err.Error(), "must be one line of at most 300 printable bytes") {
			t.Errorf("%q: %q, %v", bad, name, err)
		}
	}
}

// TestStateOfAnotherRepository: a clone of the repository has the same commits and the same key.
// The authentic state of one does not count in the other one, nor does a state that names none.
func TestStateOfAnotherRepository(t *testing.T) {
	dir, first, second := newRepository(t)
	staging := filepath.Join(t.TempDir(), "staging")
	git(t, dir, "clone", "-q", "--bare", dir, staging)
	git(t, staging, "remote", "remove", "origin")
	ours := newService(t)
	set := func(of *service, dir, commit string) string {
		t.Helper()
		if err := of.states(dir).Set(t.Context(), inventory, verified(commit)); err != nil {
			t.Fatal(err)
		}
		return git(t, dir, "cat-file", "blob", stateRef) + "\n"
	}
	set(ours, dir, first)
	set(ours.elsewhere(), staging, second)
	replayed := set(ours.elsewhere(), staging, second) // with a serial that follows the one here
	write(t, dir, stateRef, replayed)
	want := `it is the state of the repository "` + staging + `", and this is "`
	requireUntrusted(t, ours.states(dir), false, want)
	requireUntrusted(t, ours.elsewhere().states(dir), false, want)
	_, err := ours.states(dir).Get(t.Context(), inventory)
	if untrusted, is := errors.AsType[*repository.UntrustedError](err); !is || !strings.Contains(untrusted.Advice(), "$DEPLOYER_CI_STATE_REPOSITORY") {
		t.Errorf("advice for %v", err)
	}
	repo, err := repository.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	requireUntrusted(t, repo.ReadStates(ours.public(), "prod"), false, `and this is "prod"`)
	if got, err := repo.ReadStates(ours.public(), "").Get(t.Context(), inventory); err != nil || got.LastVerified() != second {
		t.Errorf("a hook that does not know the name of the runners: %+v, %v", got, err)
	}

	// A state as an older version has signed it: a person reviews and signs it once.
	if err := repo.OpenStates(ours.keys(), "", t.TempDir()).Set(t.Context(), inventory, verified(first)); err != nil {
		t.Fatal(err)
	}
	requireUntrusted(t, ours.elsewhere().states(dir), false, "it does not name its repository: an older version of deployer has written it")
	machine := ours.elsewhere()
	found, err := machine.states(dir).Review(t.Context())
	if err != nil || len(found) != 1 || found[0].Problem == nil || found[0].State.LastVerified() != first {
		t.Fatalf("review: %+v, %v", found, err)
	}
	if err := machine.states(dir).Sign(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
	if got, err := machine.states(dir).Get(t.Context(), inventory); err != nil || got.LastVerified() != first {
		t.Errorf("signed: %+v, %v", got, err)
	}
}

// TestPushesOfAnotherRepository: the hook refuses an authentic state of another repository, by the
// name in its configuration or by the present state.
func TestPushesOfAnotherRepository(t *testing.T) {
	dir, first, _ := newRepository(t)
	ours := newService(t)
	repo, err := repository.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string) string {
		t.Helper()
		if err := repo.OpenStates(ours.keys(), name, "").Set(t.Context(), inventory, verified(first)); err != nil {
			t.Fatal(err)
		}
		return git(t, dir, "rev-parse", stateRef)
	}
	const none = "0000000000000000000000000000000000000000"
	unbound, own, others, next := set(""), set("ours"), set("others"), set("ours")
	check := func(from, to, want string) {
		t.Helper()
		err := repo.CheckPush(t.Context(), ours.public(), []repository.RefUpdate{{Old: from, New: to, Ref: stateRef}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	check(none, own, "")
	check(unbound, own, "")
	check(own, next, "")
	check(none, unbound, "it does not name its repository")
	check(own, others, `it is the state of the repository "others", and the present one of "ours"; if the repository has moved`)
	git(t, dir, "config", "deployer.stateRepository", "ours")
	check(none, own, "")
	check(others, next, "")
	check(none, others, `it is the state of the repository "others", and this is "ours"`)
}
