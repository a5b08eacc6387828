package repository_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/ci/repository"
)

// service has a key and remembers states, as the service on one machine does.
type service struct {
	t          *testing.T
	key, known string
}

func newService(t *testing.T) *service {
	t.Helper()
	return &service{t, filepath.Join(t.TempDir(), "deployer", "ci-state.key"), t.TempDir()}
}

// elsewhere returns a machine with the same key that has seen no state.
func (s *service) elsewhere() *service { return &service{s.t, s.key, s.t.TempDir()} }

func (s *service) states(dir string) *repository.States {
	s.t.Helper()
	repo, err := repository.Open(s.t.Context(), dir)
	if err != nil {
		s.t.Fatal(err)
	}
	name, err := repo.StateName(s.t.Context(), func(string) string { return "" })
	if err != nil {
		s.t.Fatal(err)
	}
	return repo.OpenStates(s.keys(), name, s.known)
}

func (s *service) keys() *repository.Keys {
	s.t.Helper()
	keys, err := repository.OpenKeyFile(s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	return keys
}

func (s *service) public() []string {
	s.t.Helper()
	public, err := s.keys().Public()
	if err != nil {
		s.t.Fatal(err)
	}
	return public
}

// fetched returns the states with those of the remote origin.
func (s *service) fetched(dir string) *repository.States {
	s.t.Helper()
	states := s.states(dir)
	if err := states.Fetch(s.t.Context(), "origin"); err != nil {
		s.t.Fatal(err)
	}
	return states
}

func TestInventoriesOfTheState(t *testing.T) {
	dir, first, _ := newRepository(t)
	states := newService(t).states(dir)
	want := []string{"-a.yaml", "a%20b.yaml", "a/b c.yaml", "a/größe..yaml"}
	for _, inventory := range want {
		if err := states.Set(t.Context(), inventory, repository.ClusterState{Verified: []string{first}}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := states.Inventories(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := states.Delete(t.Context(), want[2]); err != nil {
		t.Error(err)
	}
	if got, err := states.Inventories(t.Context()); err != nil || len(got) != 3 {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStateTravels(t *testing.T) {
	dir, first, second := newRepository(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	git(t, dir, "clone", "-q", "--bare", dir, bare)
	git(t, dir, "remote", "add", "origin", bare)
	service := newService(t)
	here := service.fetched(dir)
	const inventory = "clusters/../clusters/a b.yaml"
	if s, err := here.Get(t.Context(), inventory); err != nil || s.LastVerified() != "" || s.Deploying != nil {
		t.Errorf("unknown cluster: %+v, %v", s, err)
	}
	var s repository.ClusterState
	s.Verify(first)
	s.Deploying = &repository.Deploying{From: first, To: second, Steps: []string{"deployer scale-up n1", "deployer apply"}, Begun: 1}
	if err := here.Set(t.Context(), inventory, s); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	git(t, dir, "clone", "-q", bare, fresh)
	got, err := service.elsewhere().fetched(fresh).Get(t.Context(), inventory)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Error(diff)
	}
	if !got.Deploying.Interrupted() {
		t.Errorf("%+v", got.Deploying)
	}
}

// TestEachInventoryHasAStateOfItsOwn: inventories have separate states when git could
// confuse their names, or when the names look alike.
func TestEachInventoryHasAStateOfItsOwn(t *testing.T) {
	dir, first, _ := newRepository(t)
	states := newService(t).states(dir)
	inventories := []string{"production.yaml", "production/berlin.yaml", "production", "production.yml", "production-berlin.yaml", "a.b.yaml", "a-b.yaml",
		"a b.yaml", "a%20b.yaml", "a..yaml", ".a/b.yaml", "a.lock", "a.", "-a.yaml", "größe.yaml", "a~^:?*[@{.yaml"}
	for i, inventory := range inventories {
		s := repository.ClusterState{Deploying: &repository.Deploying{To: first, Done: i}}
		s.Verified = []string{first}
		if err := states.Set(t.Context(), inventory, s); err != nil {
			t.Errorf("%s: %v", inventory, err)
		}
	}
	for i, inventory := range inventories {
		if s, err := states.Get(t.Context(), inventory); err != nil || s.Deploying == nil || s.Deploying.Done != i {
			t.Errorf("%s: %+v, %v", inventory, s, err)
		}
	}
}

// TestPushStateLeavesTheStateOfOthers: of two clones that read and change the states
// of two clusters, each pushes only its own changes.
func TestPushStateLeavesTheStateOfOthers(t *testing.T) {
	dir, first, second := newRepository(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	git(t, dir, "clone", "-q", "--bare", dir, bare)
	service := newService(t)
	clone := func() *repository.States {
		to := filepath.Join(t.TempDir(), "clone")
		git(t, dir, "clone", "-q", bare, to)
		return service.elsewhere().fetched(to)
	}
	write := func(states *repository.States, inventory string, verified ...string) error {
		return states.Set(t.Context(), inventory, repository.ClusterState{Verified: verified})
	}
	if err := errors.Join(write(clone(), "a.yaml", first), write(clone(), "b.yaml", first)); err != nil {
		t.Fatal(err)
	}
	stale, fresh := clone(), clone()
	for range 2 { // the second time with the state that the first run has pushed
		if err := write(fresh, "a.yaml", second); err != nil {
			t.Error(err)
		}
	}
	if err := write(stale, "b.yaml", second); err != nil {
		t.Errorf("another cluster: %v", err)
	}
	if err := write(stale, "a.yaml", first, second); err == nil || !strings.Contains(err.Error(), "another run has changed refs/deployer/") {
		t.Errorf("a stale state was pushed: %v", err)
	}
	for _, inventory := range []string{"a.yaml", "b.yaml"} {
		if s, err := clone().Get(t.Context(), inventory); err != nil || s.LastVerified() != second {
			t.Errorf("%s: %+v, %v", inventory, s, err)
		}
	}
}

func TestVerifyKeepsTen(t *testing.T) {
	var s repository.ClusterState
	for i := range 15 {
		s.Verify(string(rune('a' + i)))
	}
	s.Verify("n")
	if len(s.Verified) != 10 || s.Verified[0] != "n" || s.Verified[1] != "o" || s.Verified[2] != "m" {
		t.Errorf("%q", s.Verified)
	}
}
