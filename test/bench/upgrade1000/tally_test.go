package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func nodeEvent(name, zone string, ready, cordoned bool, run string) nodeObject {
	var n nodeObject
	n.Metadata.Name, n.Metadata.Labels = name, map[string]string{zoneLabel: zone}
	n.Metadata.Annotations = map[string]string{"deployer/cordoned": fmt.Sprintf(`{"run":%q}`, run)}
	n.Spec.Unschedulable = cordoned
	n.Status.Conditions = []condition{{"MemoryPressure", "False"}, {"Ready", map[bool]string{true: "True", false: "Unknown"}[ready]}}
	return n
}

// TestTallyOfNodes checks the counts of nodes that are cordoned or not Ready, in all and by
// zone, and that only those during the upgrade count for the maximum.
func TestTallyOfNodes(t *testing.T) {
	c := newTally(nil)
	for _, n := range []string{"a1", "a2", "b1"} {
		c.node("ADDED", nodeEvent(n, n[:1], false, false, ""))
	}
	for _, n := range []string{"a1", "a2", "b1"} {
		c.node("MODIFIED", nodeEvent(n, n[:1], true, false, ""))
	}
	if c.upNodes() != 3 {
		t.Fatalf("%d nodes take pods, want 3", c.upNodes())
	}
	c.begin()
	c.node("MODIFIED", nodeEvent("a1", "a", true, true, "r1"))
	c.node("MODIFIED", nodeEvent("b1", "b", false, false, ""))
	c.node("MODIFIED", nodeEvent("a1", "a", false, true, "r1")) // counted already
	c.node("MODIFIED", nodeEvent("b1", "b", true, false, ""))
	c.node("MODIFIED", nodeEvent("a1", "a", true, false, ""))
	c.node("MODIFIED", nodeEvent("a2", "a", true, true, "r2"))
	if all, zone := c.peaks(); all != 2 || zone != 1 {
		t.Errorf("at most %d nodes were unavailable, %d of a zone; want 2 and 1", all, zone)
	}
	if got := c.finished(); len(got) != 1 || !got["a1"] {
		t.Errorf("finished are %v, want a1", got)
	}
	if got := c.cordoned(); len(got) != 1 || !got["a2"] {
		t.Errorf("cordoned are %v, want a2", got)
	}
	if got := fmt.Sprint(c.cordons); got != "map[a1:[r1] a2:[r2]]" {
		t.Errorf("cordons are %s", got)
	}
}

// TestTallyOfPods checks that a pod that ends, is not Ready or is gone counts against its
// budget, once.
func TestTallyOfPods(t *testing.T) {
	a := app{name: "web", replicas: 3, needed: 2}
	c := newTally([]app{a})
	event := func(kind, uid string, ready, ending bool) {
		var p podObject
		p.Metadata.UID, p.Metadata.Labels = uid, map[string]string{"app": a.name}
		if ending {
			now := time.Now()
			p.Metadata.DeletionTimestamp = &now
		}
		if ready {
			p.Status.Conditions = []condition{{"Ready", "True"}}
		}
		c.pod(kind, p)
	}
	for _, uid := range []string{"1", "2", "3"} {
		event("ADDED", uid, false, false)
		event("MODIFIED", uid, true, false)
	}
	c.begin()
	if n := c.pending([]app{a}); n != 0 {
		t.Errorf("%d pods are missing", n)
	}
	event("MODIFIED", "1", true, true)
	event("DELETED", "1", true, true)
	if v := c.violations(); len(v) > 0 {
		t.Errorf("violations with two of three pods: %v", v)
	}
	event("MODIFIED", "2", false, false)
	event("ADDED", "4", false, false)
	event("MODIFIED", "4", true, false)
	if v, want := c.violations(), []string{"web: 1 pods are available, its budget wants 2"}; !slices.Equal(v, want) {
		t.Errorf("got %v, want %v", v, want)
	}
	if n := c.pending([]app{a}); n != 1 {
		t.Errorf("%d pods are missing, want 1", n)
	}
}

func TestApps(t *testing.T) {
	for _, pods := range []int{30, 90, 3000} {
		sum := 0
		for _, a := range apps(pods) {
			sum += a.replicas
			if a.needed >= a.replicas || a.needed < 1 {
				t.Errorf("%+v: no pod may be evicted, or all", a)
			}
		}
		if sum < pods || sum > pods+1 {
			t.Errorf("%d pods, want %d", sum, pods)
		}
	}
}

// TestFailingHosts checks that the choice depends on the seed only, and leaves the canary
// out.
func TestFailingHosts(t *testing.T) {
	for seed := range uint64(200) {
		o := options{nodes: 300, seed: seed}
		got := o.chooseFailing()
		if len(got) != 3 || got[hostName(1)] || got[masterName] || names(got) != names(o.chooseFailing()) {
			t.Errorf("seed %d: %v", seed, got)
		}
	}
}

func TestFigures(t *testing.T) {
	f := figures{wall: 61240 * time.Millisecond, resume: 1500 * time.Millisecond, unavailable: 50, failed: 10}
	if got, want := f.String(), "upgrade1000 wall_s=61.2 unavailable_max=50 failed_hosts=10 resume_s=1.5"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
