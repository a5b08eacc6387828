package repository_test

import (
	"strings"
	"testing"

	"deployer/ci/repository"
)

// TestPushesOfTheState checks which changes of the state's refs a hook accepts.
func TestPushesOfTheState(t *testing.T) {
	dir, first, second := newRepository(t)
	ours, others := newService(t), newService(t)
	repo, err := repository.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	set := func(of *service, name, commit string) string {
		t.Helper()
		if err := of.states(dir).Set(t.Context(), name, verified(commit)); err != nil {
			t.Fatal(err)
		}
		return git(t, dir, "rev-parse", "refs/deployer/state/"+name)
	}
	foreign, one, two := set(others, inventory, second), set(ours, inventory, first), set(ours, inventory, second)
	if err := ours.states(dir).Delete(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
	removed := git(t, dir, "rev-parse", stateRef)
	set(ours, "other.yaml", first)
	const verifiedRef, none = "refs/deployer/verified/inventory.yaml", "0000000000000000000000000000000000000000"
	update := func(ref, from, to string) repository.RefUpdate {
		return repository.RefUpdate{Old: from, New: to, Ref: ref}
	}
	for name, c := range map[string]struct {
		updates []repository.RefUpdate
		want    string
	}{
		"a branch":                      {[]repository.RefUpdate{update("refs/heads/main", first, second), update("refs/tags/v1", none, second)}, ""},
		"the first state":               {[]repository.RefUpdate{update(stateRef, none, one), update(verifiedRef, none, first)}, ""},
		"the next state":                {[]repository.RefUpdate{update(verifiedRef, first, second), update(stateRef, one, two)}, ""},
		"a removed cluster":             {[]repository.RefUpdate{update(stateRef, two, removed)}, ""},
		"a state after another's":       {[]repository.RefUpdate{update(stateRef, foreign, one)}, ""},
		"a state of others":             {[]repository.RefUpdate{update(stateRef, one, foreign)}, "it is signed with another key"},
		"an earlier state":              {[]repository.RefUpdate{update(stateRef, two, one)}, "does not follow the state"},
		"the same state":                {[]repository.RefUpdate{update(stateRef, one, one)}, "does not follow the state"},
		"a deletion":                    {[]repository.RefUpdate{update(stateRef, two, none)}, "it cannot be deleted"},
		"the state of another cluster":  {[]repository.RefUpdate{update("refs/deployer/state/other.yaml", none, one)}, "it is a copy of the state of inventory.yaml"},
		"a commit":                      {[]repository.RefUpdate{update(stateRef, one, second)}, "it is no file"},
		"another verified commit":       {[]repository.RefUpdate{update("refs/deployer/verified/other.yaml", first, second)}, "it is not the verified commit of the state"},
		"a verified commit is deleted":  {[]repository.RefUpdate{update("refs/deployer/verified/other.yaml", first, none)}, "it is not the verified commit of the state"},
		"a verified commit alone":       {[]repository.RefUpdate{update("refs/deployer/verified/unknown.yaml", none, first)}, "there is no state of unknown.yaml"},
		"another name of the inventory": {[]repository.RefUpdate{update("refs/deployer/state/inventory%2Eyaml", none, one)}, "it is no ref of the state"},
		"another ref":                   {[]repository.RefUpdate{update("refs/deployer/x", none, one)}, "it is no ref of the state"},
		"a replacement":                 {[]repository.RefUpdate{update("refs/heads/main", first, second), update("refs/replace/"+first, none, second)}, "would show another object in the place of one that was reviewed"},
	} {
		t.Run(name, func(t *testing.T) {
			err := repo.CheckPush(t.Context(), ours.public(), c.updates)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if strings.HasPrefix(c.updates[0].Ref, "refs/deployer/") && repo.CheckPush(t.Context(), nil, c.updates) == nil {
				t.Error("without a key the push was accepted")
			}
		})
	}
}
