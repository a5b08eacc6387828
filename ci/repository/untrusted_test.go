package repository_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/ci/repository"
)

const (
	inventory = "inventory.yaml"
	stateRef  = "refs/deployer/state/inventory.yaml"
)

// verified is the state of a cluster with one verified commit.
func verified(commit string) repository.ClusterState {
	return repository.ClusterState{Verified: []string{commit}}
}

// write sets the ref of the state to a text, as a person who may push any ref does.
func write(t *testing.T, dir, ref, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "update-ref", ref, git(t, dir, "hash-object", "-w", file))
}

func requireUntrusted(t *testing.T, states *repository.States, setBack bool, want string) {
	t.Helper()
	got, err := states.Get(t.Context(), inventory)
	var untrusted *repository.UntrustedError
	if !errors.As(err, &untrusted) || untrusted.SetBack != setBack || !strings.Contains(err.Error(), want) {
		t.Errorf("got %+v, %v; want an error with %q, set back %v", got, err, want, setBack)
	}
	if len(got.Verified) > 0 || got.Deploying != nil || got.Approved != "" {
		t.Errorf("the state was returned: %+v", got)
	}
}

// TestStatesOfOthersDoNotCount writes every kind of state that is not the service's into the
// ref of a cluster.
func TestStatesOfOthersDoNotCount(t *testing.T) {
	dir, first, second := newRepository(t)
	ours, others := newService(t), newService(t)
	set := func(of *service, name, commit string) string {
		t.Helper()
		if err := of.states(dir).Set(t.Context(), name, verified(commit)); err != nil {
			t.Fatal(err)
		}
		return git(t, dir, "cat-file", "blob", "refs/deployer/state/"+name) + "\n"
	}
	foreign := set(others, inventory, second)
	authentic := set(ours, inventory, first)
	neighbour := set(ours, "other.yaml", second)
	for name, c := range map[string]struct{ text, want string }{
		"without a signature":      {`{"verified":["` + second + `"],"approved":"sha256:1"}`, "it has no signature"},
		"of another key":           {foreign, "it is signed with another key, ed25519:"},
		"of another cluster":       {neighbour, "it is a copy of the state of other.yaml"},
		"changed":                  {strings.ReplaceAll(authentic, first, second), "its signature is not valid"},
		"with a line after it":     {authentic + "x\n", "its signature is not valid"},
		"signature cut off":        {authentic[:strings.LastIndex(authentic, "ed25519:")], "its signature is not valid"},
		"signature of other bytes": {strings.Replace(authentic, "{", "{\n", 1), "its signature is not valid"},
		"nothing":                  {"", "it is no state of deployer ci"},
		"another version":          {strings.Replace(authentic, "format 2", "format 9", 1), "it is no state of deployer ci, or one of a newer version"},
		"too large":                {strings.Repeat("x", 1<<20) + authentic, "a state has at most"},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, dir, stateRef, c.text)
			requireUntrusted(t, ours.states(dir), false, c.want)
			requireUntrusted(t, ours.elsewhere().states(dir), false, c.want)
			repo, err := repository.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			requireUntrusted(t, repo.ReadStates(ours.public(), ""), false, c.want)
		})
	}
	git(t, dir, "update-ref", stateRef, second)
	requireUntrusted(t, ours.states(dir), false, "it is no file")
	write(t, dir, stateRef, authentic)
	if got, err := ours.states(dir).Get(t.Context(), inventory); err != nil || got.LastVerified() != first {
		t.Errorf("the authentic state: %+v, %v", got, err)
	}
}

// TestSetBack sets the ref to an earlier state of the service, deletes it, and brings back the
// state of a cluster that was removed.
func TestSetBack(t *testing.T) {
	dir, first, second := newRepository(t)
	machine := newService(t)
	states := machine.states(dir)
	set := func(commit string) string {
		t.Helper()
		if err := states.Set(t.Context(), inventory, verified(commit)); err != nil {
			t.Fatal(err)
		}
		return git(t, dir, "rev-parse", stateRef)
	}
	earlier := set(first)
	newest := set(second)
	git(t, dir, "update-ref", stateRef, earlier)
	requireUntrusted(t, machine.states(dir), true, "it was set back to the state 1 of ")
	if got, err := machine.elsewhere().states(dir).Get(t.Context(), inventory); err != nil || got.LastVerified() != first {
		t.Errorf("a machine that knows no state takes an authentic one: %+v, %v", got, err)
	}
	git(t, dir, "update-ref", "-d", stateRef)
	requireUntrusted(t, machine.states(dir), true, "it was deleted; this machine knows the state 2 of ")
	if all, err := machine.states(dir).Inventories(t.Context()); err != nil || !slices.Equal(all, []string{inventory}) {
		t.Errorf("inventories %q, %v", all, err)
	}

	if err := machine.states(dir).Restore(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
	if got, err := machine.states(dir).Get(t.Context(), inventory); err != nil || got.LastVerified() != second {
		t.Errorf("restored: %+v, %v", got, err)
	}
	git(t, dir, "update-ref", stateRef, newest)
	requireUntrusted(t, machine.states(dir), true, "it was set back to the state 2 of ")
	if err := machine.states(dir).Sign(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
	if got, err := machine.states(dir).Get(t.Context(), inventory); err != nil || got.LastVerified() != second {
		t.Errorf("signed: %+v, %v", got, err)
	}

	last := git(t, dir, "rev-parse", stateRef)
	for range 2 {
		if err := machine.states(dir).Delete(t.Context(), inventory); err != nil {
			t.Fatal(err)
		}
	}
	for name, m := range map[string]*service{"the machine": machine, "another machine": machine.elsewhere()} {
		if all, err := m.states(dir).Inventories(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("%s: inventories %q, %v", name, all, err)
		}
		if got, err := m.states(dir).Get(t.Context(), inventory); err != nil || got.LastVerified() != "" {
			t.Errorf("%s: removed: %+v, %v", name, got, err)
		}
	}
	git(t, dir, "update-ref", stateRef, last)
	requireUntrusted(t, machine.states(dir), true, "it was set back to the state 4 of ")
	if err := machine.states(dir).Restore(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
	if got, err := machine.states(dir).Get(t.Context(), inventory); err != nil || got.LastVerified() != "" {
		t.Errorf("removed again: %+v, %v", got, err)
	}
	if err := machine.states(dir).Set(t.Context(), inventory, verified(first)); err != nil {
		t.Fatal(err)
	}
	if all, err := machine.states(dir).Inventories(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("installed again: inventories %q, %v", all, err)
	}
}

// TestUnsignedStatesAreSignedAfterReview is the upgrade of a repository whose states have no
// signature.
func TestUnsignedStatesAreSignedAfterReview(t *testing.T) {
	dir, first, _ := newRepository(t)
	service := newService(t)
	write(t, dir, stateRef, `{"verified":["`+first+`"]}`)
	found, err := service.states(dir).Review(t.Context())
	if err != nil || len(found) != 1 || found[0].Problem == nil || found[0].State.LastVerified() != first || found[0].Inventory != inventory {
		t.Fatalf("review %+v, %v", found, err)
	}
	if _, err := os.Stat(service.key); err == nil {
		t.Error("reading states has created a key")
	}
	if err := service.states(dir).Sign(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
	if found, err = service.states(dir).Review(t.Context()); err != nil || len(found) != 1 || found[0].Problem != nil || found[0].Serial != 1 {
		t.Errorf("review %+v, %v", found, err)
	}
	info, err := os.Stat(service.key)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("key %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(service.key, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := repository.OpenKeyFile(service.key); err == nil || !strings.Contains(err.Error(), "run chmod 600 "+service.key) {
		t.Errorf("a key that others can read: %v", err)
	}
}

// TestRotation replaces the key: the states of the former one count until it is forgotten.
func TestRotation(t *testing.T) {
	dir, first, _ := newRepository(t)
	service := newService(t)
	if err := service.states(dir).Set(t.Context(), inventory, verified(first)); err != nil {
		t.Fatal(err)
	}
	former, earlier := service.public(), git(t, dir, "rev-parse", stateRef)
	if err := service.keys().Add(); err != nil {
		t.Fatal(err)
	}
	if now := service.public(); len(now) != 2 || now[1] != former[0] || now[0] == former[0] {
		t.Fatalf("keys %q, were %q", now, former)
	}
	if _, err := service.states(dir).Get(t.Context(), inventory); err != nil {
		t.Error(err)
	}
	if err := service.states(dir).Sign(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
	if err := service.keys().Forget(); err != nil {
		t.Fatal(err)
	}
	if got, err := service.states(dir).Get(t.Context(), inventory); err != nil || got.LastVerified() != first {
		t.Errorf("%+v, %v", got, err)
	}
	git(t, dir, "update-ref", stateRef, earlier)
	requireUntrusted(t, service.elsewhere().states(dir), false, "it is signed with another key, "+former[0])
}

// TestKeysOfTheEnvironment reads keys as CI systems give them to a job.
func TestKeysOfTheEnvironment(t *testing.T) {
	one, public := repository.NewKey()
	two, second := repository.NewKey()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("# comment\n\n"+one+"\n"), 0o666); err != nil { // the mode that GitLab gives
		t.Fatal(err)
	}
	for _, c := range []struct {
		variables map[string]string
		want      []string
		err       string
	}{
		{map[string]string{repository.KeyVariable: one + "\n" + two}, []string{public, second}, ""},
		{map[string]string{repository.KeyFileVariable: file}, []string{public}, ""},
		{map[string]string{repository.KeyFileVariable: file + "x"}, nil, "reading the key of the state ($DEPLOYER_CI_STATE_KEY_FILE)"},
		{map[string]string{repository.KeyVariable: "hunter2"}, nil, "$DEPLOYER_CI_STATE_KEY: line 1 is no key of the state"},
		{map[string]string{repository.KeyVariable: "# none"}, nil, "$DEPLOYER_CI_STATE_KEY has no key of the state"},
	} {
		keys, err := repository.OpenKeys(func(name string) string { return c.variables[name] })
		if err != nil || c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v: %v, want %q", c.variables, err, c.err)
			}
			continue
		}
		if public, err := keys.Public(); err != nil || !slices.Equal(public, c.want) {
			t.Errorf("%v: %q, %v", c.variables, public, err)
		}
		if err := keys.Add(); err == nil || !strings.Contains(err.Error(), "deployer ci state keygen") {
			t.Errorf("a key was added to %s: %v", keys.Source(), err)
		}
	}
}

func TestRemoteIsOneOfTheConfiguration(t *testing.T) {
	dir, _, _ := newRepository(t)
	git(t, dir, "remote", "add", "origin", t.TempDir())
	pwned := filepath.Join(t.TempDir(), "pwned")
	for _, remote := range []string{"--upload-pack=touch " + pwned, "ext::touch " + pwned, "upstream", t.TempDir(), ""} {
		err := newService(t).states(dir).Fetch(t.Context(), remote)
		if err == nil || !strings.Contains(err.Error(), "has no remote") || !strings.Contains(err.Error(), "origin") {
			t.Errorf("%q: %v", remote, err)
		}
	}
	if _, err := os.Stat(pwned); err == nil {
		t.Error("the remote was executed")
	}
}

// TestTwoRunsCreateOneKey: two processes that began without a key sign with the same one.
func TestTwoRunsCreateOneKey(t *testing.T) {
	dir, first, _ := newRepository(t)
	service := newService(t)
	one, two := service.states(dir), service.states(dir)
	for name, states := range map[string]*repository.States{"a.yaml": one, "b.yaml": two} {
		if err := states.Set(t.Context(), name, verified(first)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.yaml", "b.yaml"} {
		if _, err := service.states(dir).Get(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
}
