package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// nodeObject is the part of a Node that the tally reads.
type nodeObject struct {
	Metadata struct {
		Name        string            `json:"name"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Unschedulable bool `json:"unschedulable"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

// podObject is the part of a Pod that the tally reads.
type podObject struct {
	Metadata struct {
		UID               string            `json:"uid"`
		Labels            map[string]string `json:"labels"`
		DeletionTimestamp *time.Time        `json:"deletionTimestamp"`
	} `json:"metadata"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

func isReady(all []condition) bool {
	return slices.Contains(all, condition{Type: "Ready", Status: "True"})
}

// tally follows the nodes and pods of a cluster event by event, in the order in which etcd
// has them, so that no state between two events is missed.
type tally struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each event
	running bool          // the upgrade runs: observations count
	needed  map[string]int

	nodes       map[string]nodeState
	unavailable map[string]int // nodes, by zone; all of them at ""
	peak        map[string]int
	cordons     map[string][]string // runs that cordoned a node, by node
	uncordoned  map[string]int      // by node

	pods      map[string]string // app of each available pod, by UID
	available map[string]int    // pods, by app
	violated  []string
}

type nodeState struct {
	zone                string
	ready, cordoned, up bool
}

func newTally(all []app) *tally {
	t := &tally{
		changed: make(chan struct{}), needed: map[string]int{}, nodes: map[string]nodeState{}, unavailable: map[string]int{}, peak: map[string]int{},
		cordons: map[string][]string{}, uncordoned: map[string]int{}, pods: map[string]string{}, available: map[string]int{},
	}
	for _, a := range all {
		t.needed[a.name] = a.needed
	}
	return t
}

// event begins the handling of an event; the returned function ends it.
func (t *tally) event() func() {
	t.mu.Lock()
	return func() {
		close(t.changed)
		t.changed = make(chan struct{})
		t.mu.Unlock()
	}
}

// node records the state of a node. A node that was deleted stays unavailable.
func (t *tally) node(kind string, n nodeObject) {
	defer t.event()()
	name := n.Metadata.Name
	before, known := t.nodes[name]
	now := nodeState{zone: n.Metadata.Labels[zoneLabel], ready: kind != "DELETED" && isReady(n.Status.Conditions), cordoned: n.Spec.Unschedulable}
	now.up = now.ready && !now.cordoned
	t.nodes[name] = now
	if now.cordoned && !before.cordoned {
		t.cordons[name] = append(t.cordons[name], runOf(n))
	}
	if known && before.cordoned && !now.cordoned {
		t.uncordoned[name]++
	}
	if known && before.up != now.up || !known && !now.up {
		for _, key := range []string{now.zone, ""} {
			if now.up {
				t.unavailable[key]--
			} else {
				t.unavailable[key]++
			}
			if t.running {
				t.peak[key] = max(t.peak[key], t.unavailable[key])
			}
		}
	}
}

// runOf returns the run that has cordoned a node, as deployer's mark on the node
// names it.
func runOf(n nodeObject) string {
	var mark struct {
		Run string `json:"run"`
	}
	if json.Unmarshal([]byte(n.Metadata.Annotations["deployer/cordoned"]), &mark) != nil {
		return ""
	}
	return mark.Run
}

// pod records whether a pod is available: Ready and not ending, which is how the API server
// counts for budgets.
func (t *tally) pod(kind string, p podObject) {
	defer t.event()()
	app := p.Metadata.Labels["app"]
	_, was := t.pods[p.Metadata.UID]
	is := kind != "DELETED" && p.Metadata.DeletionTimestamp == nil && isReady(p.Status.Conditions)
	switch {
	case is && !was:
		t.pods[p.Metadata.UID] = app
		t.available[app]++
	case was && !is:
		delete(t.pods, p.Metadata.UID)
		t.available[app]--
		if t.running && t.available[app] < t.needed[app] {
			t.violated = append(t.violated, fmt.Sprintf("%s: %d pods are available, its budget wants %d", app, t.available[app], t.needed[app]))
		}
	}
}

// begin makes the observations from now on count.
func (t *tally) begin() {
	defer t.event()()
	t.running = true
}

// look calls read while it holds the lock.
func (t *tally) look(read func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	read()
}

// finished returns the nodes that take pods again after a cordon.
func (t *tally) finished() map[string]bool {
	out := map[string]bool{}
	t.look(func() {
		for name := range t.uncordoned {
			if t.nodes[name].up {
				out[name] = true
			}
		}
	})
	return out
}

// cordoned returns the nodes that are cordoned now.
func (t *tally) cordoned() map[string]bool {
	out := map[string]bool{}
	t.look(func() {
		for name, n := range t.nodes {
			if n.cordoned {
				out[name] = true
			}
		}
	})
	return out
}

// upNodes returns the number of nodes that take pods.
func (t *tally) upNodes() (n int) {
	t.look(func() { n = len(t.nodes) - t.unavailable[""] })
	return n
}

// pending returns the number of pods of the apps that are not available.
func (t *tally) pending(all []app) (n int) {
	t.look(func() {
		for _, a := range all {
			n += max(a.replicas-t.available[a.name], 0)
		}
	})
	return n
}

// peaks returns the maximum of unavailable nodes, in all and in one zone.
func (t *tally) peaks() (all, zone int) {
	t.look(func() {
		for name, n := range maps.All(t.peak) {
			if name == "" {
				all = n
			} else {
				zone = max(zone, n)
			}
		}
	})
	return all, zone
}

// violations returns the moments at which a budget was not met.
func (t *tally) violations() (out []string) {
	t.look(func() { out = slices.Clone(t.violated) })
	return out
}

// next returns a channel that is closed at the next event.
func (t *tally) next() (c <-chan struct{}) {
	t.look(func() { c = t.changed })
	return c
}
