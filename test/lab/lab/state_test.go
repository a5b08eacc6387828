package lab

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"deployer/test/lab/plan"
)

func TestStateComesBackAsSaved(t *testing.T) {
	p := somewhere(t)
	if err := p.open("x"); err != nil {
		t.Fatal(err)
	}
	want := state{
		Name: "x", Image: "localhost/deployer-lab:1", Tied: true, Complete: true,
		Hosts: []plan.Host{{Name: "m1", Role: "master", Address: netip.MustParseAddr("172.31.0.11")}},
	}
	if err := p.save(want); err != nil {
		t.Fatal(err)
	}
	got, err := p.load("x")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Error(d)
	}
}

func TestLoadTellsMissingFromBroken(t *testing.T) {
	p := somewhere(t)
	if _, err := p.load("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: got %v", err)
	}
	p.open("x")
	os.WriteFile(p.files("x").State(), []byte(`{"name": "x`), 0o644)
	if _, err := p.load("x"); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "lab x") {
		t.Errorf("broken: got %v", err)
	}
}

func TestLabsListsWholeOnesAndThoseInTheMaking(t *testing.T) {
	p := somewhere(t)
	if got, err := p.labs(); len(got) != 0 || err != nil {
		t.Errorf("before the first lab: %v, %v", got, err)
	}
	for _, lab := range []string{"b", "a"} {
		if err := p.open(lab); err != nil {
			t.Fatal(err)
		}
	}
	held, err := acquire(p.work("c"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	image, err := acquire(p.image(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer image.release()
	got, err := p.labs()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, got); d != "" {
		t.Error(d)
	}
}

// TestStateIsFoundFromAnotherCache: a lab that was created with one cache directory
// is complete for a process with another one. Otherwise Sweep would remove it as
// incomplete.
func TestStateIsFoundFromAnotherCache(t *testing.T) {
	mine := somewhere(t)
	other := place{cache: t.TempDir(), run: mine.run}
	if err := mine.open("x"); err != nil {
		t.Fatal(err)
	}
	if err := mine.save(state{Name: "x", Complete: true}); err != nil {
		t.Fatal(err)
	}
	s, err := other.load("x")
	if err != nil || !s.Complete {
		t.Errorf("got %+v, %v", s, err)
	}
	if got, _ := other.labs(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("labs: %v", got)
	}
	if err := other.close("x"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []place{mine, other} {
		if got, _ := p.labs(); len(got) != 0 {
			t.Errorf("after its removal: %v", got)
		}
	}
}

func somewhere(t *testing.T) place {
	t.Helper()
	return place{cache: filepath.Join(t.TempDir(), "cache"), run: filepath.Join(t.TempDir(), "run")}
}

func TestALabIsAbandonedWhenItsOwnerIsGone(t *testing.T) {
	p := somewhere(t)
	if abandoned(p, state{Name: "x"}) {
		t.Error("a lab that stands on its own counts as abandoned")
	}
	tied := state{Name: "x", Tied: true}
	owner, err := acquire(p.owner("x"), false)
	if err != nil {
		t.Fatal(err)
	}
	if abandoned(p, tied) {
		t.Error("its owner lives, but it counts as abandoned")
	}
	owner.f.Close() // like the end of the process: the file stays
	if !abandoned(p, tied) {
		t.Error("its owner is gone, but it does not count as abandoned")
	}
}

func TestConditions(t *testing.T) {
	hosts := []plan.Host{{Name: "m1"}, {Name: "m2"}, {Name: "m3"}}
	running := map[string]bool{"deployer-lab-x.m1": true, "deployer-lab-x.m2": true}
	got := conditions(state{Name: "x", Hosts: hosts}, running, map[string]bool{"m1": true, "m2": false})
	want := []HostStatus{{hosts[0], HostUp}, {hosts[1], HostCut}, {hosts[2], HostDown}}
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Error(d)
	}
}
