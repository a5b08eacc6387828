package etcd

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// TestRemove removes members that answer, are dead, have no name yet, or are gone
// already, through the hosts that stay.
func TestRemove(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		down   []string
		member Departing
		did    []string
		want   string // part of the error
	}{
		"a healthy member":                     {nil, Departing{Name: "m1", PeerURL: peer("m1")}, []string{"remove 1"}, ""},
		"a member without a peer URL":          {nil, Departing{Name: "m1"}, []string{"remove 1"}, ""},
		"a dead member":                        {[]string{"m1"}, Departing{Name: "m1", Dead: true}, []string{"remove 1"}, ""},
		"a member that was removed already":    {nil, Departing{Name: "m9", PeerURL: peer("m9")}, nil, ""},
		"a healthy member that counts as dead": {nil, Departing{Name: "m1", Dead: true}, nil, "it answers, so its host is not dead"},
		"another member is down":               {[]string{"m3"}, Departing{Name: "m1", PeerURL: peer("m1")}, nil, "only 1 of the 2 members that stay are healthy"},
		"no majority":                          {[]string{"m1", "m3"}, Departing{Name: "m1", Dead: true}, nil, "no etcd member serves"},
		"the name of a member that stays":      {nil, Departing{Name: "m2"}, nil, "belongs to a host that stays"},
	} {
		f := newFake("m1", "m2", "m3")
		for _, host := range c.down {
			f.up[host] = false
		}
		err := Remove(ctx, f.open, hostsOf("m2", "m3"), c.member, 600*time.Millisecond, silent)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if diff := cmp.Diff(c.did, f.done); diff != "" || f.worst != "" {
			t.Errorf("%s: %s %s", name, diff, f.worst)
		}
		if err := Remove(ctx, f.open, hostsOf("m2", "m3"), c.member, 600*time.Millisecond, silent); c.want == "" && err != nil {
			t.Errorf("%s, again: %v", name, err)
		}
	}
}

// TestRemovalWaitsForTheQuorum: a removal that would lose the majority is made when the
// missing member is back.
func TestRemovalWaitsForTheQuorum(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	f.up["m3"] = false
	go func() {
		time.Sleep(300 * time.Millisecond)
		f.start("m3")
	}()
	err := Remove(context.Background(), f.open, hostsOf("m2", "m3"), Departing{Name: "m1"}, 10*time.Second, silent)
	if err != nil || f.worst != "" || !cmp.Equal([]string{"remove 1"}, f.done) {
		t.Errorf("%v, did %v %s", err, f.done, f.worst)
	}
}

// TestRemoveMemberAction: the action removes the member of its host from the cluster that
// stays, and finds nothing to do afterwards.
func TestRemoveMemberAction(t *testing.T) {
	f := newFake("m1", "m2", "m3", "m4")
	s := run(t, f, "m4", nil) // the cluster of the run has m1 to m3
	action := NewRemoveMember()
	change, err := action.Check(t.Context(), s)
	if err != nil || !change.Needed || change.Effects[0].Kind != engine.EffectMember {
		t.Fatalf("%+v, %v", change, err)
	}
	if _, err := action.Apply(t.Context(), s, change); err != nil || !cmp.Equal([]string{"remove 4"}, f.done) {
		t.Fatalf("did %v, %v", f.done, err)
	}
	if change, err := action.Check(t.Context(), s); err != nil || change.Needed {
		t.Errorf("again: %+v, %v", change, err)
	}
	for _, host := range []string{"m1", "m2"} {
		f.up[host] = false
	}
	if _, err := action.Check(t.Context(), s); err == nil {
		t.Error("without a majority the member counts as removed")
	}
}
