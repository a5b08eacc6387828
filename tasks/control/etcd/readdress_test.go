package etcd

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/control/actiontest"
)

// moveAway makes the member of a host one that is down and listed with another
// address.
func (f *fake) moveAway(name string) {
	f.up[name] = false
	for i, e := range f.entries {
		if e.Name == name {
			f.entries[i].PeerURLs, f.entries[i].ClientURLs = []string{"https://192.0.2.7:2380"}, []string{"https://192.0.2.7:2379"}
		}
	}
}

func (f *fake) peerURLs(name string) []string {
	i := slices.IndexFunc(f.entries, func(e Entry) bool { return e.Name == name })
	return f.entries[i].PeerURLs
}

func TestMemberWithANewAddressIsListedWithIt(t *testing.T) {
	ctx := context.Background()
	f := newFake("m1", "m2", "m3")
	f.moveAway("m2")
	s := run(t, f, "m2", map[string]bool{"m1": true, "m2": true, "m3": true})
	plan, err := (&Plan{Found: "found"}).Check(ctx, s)
	if err != nil || actions(plan.Output)["m2"] != "readdress" {
		t.Fatalf("%v %v", plan.Output, err)
	}
	s.Results["m2"]["plan"] = plan.Output
	add := NewAddMember()
	add.Plan, add.Timeout = "plan", 5*time.Second
	change, err := add.Check(ctx, s)
	if err != nil || len(change.Effects) != 1 || change.Effects[0].Action != "change the peer URL from https://192.0.2.7:2380 to "+peer("m2") {
		t.Fatalf("%+v %v", change, err)
	}
	if _, err := add.Apply(ctx, s, change); err != nil {
		t.Fatal(err)
	}
	if got := f.peerURLs("m2"); !slices.Equal(got, []string{peer("m2")}) || f.worst != "" {
		t.Errorf("peer URLs %v, %s", got, f.worst)
	}
	if change, err = add.Check(ctx, s); err != nil || change.Needed {
		t.Errorf("a second time: %+v %v", change, err)
	}
	f.start("m2")
	if change, err = NewHealthy().Check(ctx, s); err != nil || change.Needed {
		t.Errorf("when it serves: %+v %v", change, err)
	}
}

// TestOnlyMemberChangesItsPeerURL: the only member of a cluster changes its own peer
// URL when it serves, because no other member can.
func TestOnlyMemberChangesItsPeerURL(t *testing.T) {
	ctx := context.Background()
	f := newFake("m1")
	f.entries[0].PeerURLs = []string{"https://192.0.2.7:2380"}
	s := run(t, f, "m1", nil)
	change, err := NewHealthy().Check(ctx, s)
	if err != nil || !change.Needed {
		t.Fatalf("%+v %v", change, err)
	}
	if _, err := NewHealthy().Apply(ctx, s, change); err != nil {
		t.Fatal(err)
	}
	if change, err = NewHealthy().Check(ctx, s); err != nil || change.Needed || f.peerURLs("m1")[0] != peer("m1") {
		t.Errorf("%+v %v %v", change, f.entries, err)
	}
}

func TestPeerURLStaysWhileAnotherMemberIsDown(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	f.entries[1].PeerURLs = []string{"https://192.0.2.7:2380"} // it serves under both
	f.up["m3"] = false
	hosts := hostsOf("m1", "m2", "m3")
	err := Readdress(context.Background(), f.open, hosts, hosts[1], time.Second, silent)
	if err == nil || !strings.Contains(err.Error(), "member m3 does not serve") || len(f.done) != 0 {
		t.Errorf("%v, done %v", err, f.done)
	}
}

// TestAddressOfAnotherMember: a host is found by its name although another member is
// listed with its address.
func TestAddressOfAnotherMember(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	f.moveAway("m2")
	f.entries[2].PeerURLs = []string{peer("m2")}
	f.up["m3"] = true
	survey := Take(context.Background(), f.open, hostsOf("m1", "m2", "m3"))
	if e, ok := survey.Entry(hostsOf("m2")[0]); !ok || e.Name != "m2" {
		t.Errorf("the member of m2 is %+v", e)
	}
}

// downAt returns a cluster of three masters of which no member answers; the units of
// the moved hosts have other addresses.
func downAt(t *testing.T, moved ...string) *actiontest.Context {
	f := newFake("m1", "m2", "m3")
	f.up = map[string]bool{}
	s := run(t, f, "m1", map[string]bool{"m1": true, "m2": true, "m3": true})
	s.RunFunc = func(_ context.Context, host, module string, _ engine.Module) (engine.Result, error) {
		if module != "read" {
			return engine.Result{Output: engine.Output{"exists": true}}, nil // the manifest of the API server
		}
		url := peer(host)
		if slices.Contains(moved, host) {
			url = "https://192.0.2.7:2380"
		}
		unit := "ExecStart=/usr/local/bin/etcd \\\n  \"--initial-advertise-peer-urls=" + url + "\" \\\n  \"--name=" + host + "\""
		return engine.Result{Output: engine.Output{"files": map[string]any{unitPath(""): unit}}}, nil
	}
	return s
}

func TestMembersThatDoNotFindEachOther(t *testing.T) {
	for name, tt := range map[string]struct {
		moved     []string
		plan      string // error of etcd_plan
		addresses string // error of etcd_addresses
	}{
		"all members have other addresses": {[]string{"m1", "m2", "m3"}, "m1, m2, m3 have other addresses", ""},
		"two of three members":             {[]string{"m2", "m3"}, "deployer etcd readdress", ""},
		"one of three members":             {[]string{"m2"}, "", "deployer resume completes an interrupted readdress; where none was interrupted, deployer apply starts them"},
		"no address has changed":           {nil, "", "deployer apply starts them"},
	} {
		s := downAt(t, tt.moved...)
		_, err := (&Plan{Found: "found"}).Check(t.Context(), s)
		requireError(t, name+": etcd_plan", err, tt.plan)
		_, err = (&Plan{Found: "found", Restored: true}).Check(t.Context(), s)
		requireError(t, name+": etcd_plan with restored data", err, "")
		change, err := (&Addresses{Found: "found"}).Check(t.Context(), s)
		requireError(t, name+": etcd_addresses", err, tt.addresses)
		if reason, _ := change.Output["reason"].(string); err == nil && !strings.Contains(reason, "no majority") {
			t.Errorf("%s: reason %q", name, reason)
		}
	}
	s := run(t, newFake("m1", "m2", "m3"), "m1", map[string]bool{"m1": true, "m2": true, "m3": true})
	_, err := (&Addresses{Found: "found"}).Check(t.Context(), s)
	requireError(t, "etcd serves", err, "deployer install changes the addresses of members, one after the other, and deployer resume completes an interrupted readdress")
}

func requireError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want %q", what, err, want)
	}
}
