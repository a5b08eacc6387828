package prober

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// fakeEtcd is a set of members that have the same list of members.
type fakeEtcd struct {
	lock    sync.Mutex
	members []etcdMember
	sick    []string
}

func (f *fakeEtcd) add(t *testing.T, name string, learner bool) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.lock.Lock()
		defer f.lock.Unlock()
		if slices.Contains(f.sick, name) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path == "/v3/cluster/member/list" {
			_ = json.NewEncoder(w).Encode(map[string]any{"members": f.members})
		}
	}))
	t.Cleanup(server.Close)
	f.members = append(f.members, etcdMember{Name: name, ClientURLs: []string{server.URL}, Learner: learner})
}

func (f *fakeEtcd) set(sick ...string) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.sick = sick
}

func TestEtcdWatch(t *testing.T) {
	f := &fakeEtcd{}
	for _, name := range []string{"m1", "m2", "m3"} {
		f.add(t, name, false)
	}
	f.add(t, "m4", true)
	f.members = append(f.members, etcdMember{ClientURLs: nil}) // a member that was added and has not started
	w := newEtcdWatch(Target{Etcd: f.members[0].ClientURLs, EtcdDial: new(net.Dialer).DialContext})
	now := time.Now()
	second := func(n int) time.Time { return now.Add(time.Duration(n) * time.Second) }

	w.look(second(0))
	f.set("m4") // a learner has no vote
	w.look(second(1))
	if w.most != 0 || w.members != 3 {
		t.Fatalf("%d of %d members down, want 0 of 3", w.most, w.members)
	}
	f.set("m1")
	w.look(second(2))
	f.set("m2")
	w.look(second(4))
	if w.most != 1 {
		t.Errorf("one after the other: %d members down, want 1", w.most)
	}
	f.set("m2", "m3")
	w.look(second(5))
	f.set()
	w.look(second(8))
	if w.most != 2 || !w.mostAt.Equal(second(5)) {
		t.Errorf("two at once: %d down at %s, want 2 at %s", w.most, w.mostAt, second(5))
	}
	f.set("m1", "m2", "m3")
	w.look(second(9))
	if w.most != 3 {
		t.Errorf("all: %d members down, want 3", w.most)
	}
	w.end(second(10))
	want := map[string]float64{"m1": 3, "m2": 5, "m3": 4}
	got := seconds(w.down)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s was down for %v s, want %v", name, got[name], want[name])
		}
	}
}

// TestRemovedMember stops a member after its removal: it does not count as down.
func TestRemovedMember(t *testing.T) {
	f := &fakeEtcd{}
	for _, name := range []string{"m1", "m2", "m3"} {
		f.add(t, name, false)
	}
	w := newEtcdWatch(Target{Etcd: f.members[1].ClientURLs, EtcdDial: new(net.Dialer).DialContext})
	w.look(time.Now())
	f.set("m1")
	f.members = f.members[1:]
	w.look(time.Now())
	if w.most != 0 {
		t.Errorf("%d members down, want none", w.most)
	}
}
