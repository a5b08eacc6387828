package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// harm is an event between runs.
func (w *world) harm(r *rand.Rand) {
	name := w.names[r.IntN(len(w.names))]
	switch r.IntN(6) {
	case 0:
		w.note("power is lost")
		for _, h := range w.hosts {
			h.running = false
		}
	case 1:
		w.note("%s stops", name)
		w.hosts[name].running = false
	case 2: // a disk dies, never so many that a majority is gone
		if w.marked && w.majorityWithout(name) {
			w.note("%s loses its data", name)
			*w.hosts[name] = machine{moves: w.hosts[name].moves}
		}
	case 3: // a host is added
		if w.marked && len(w.names) < 7 {
			added := fmt.Sprintf("e%d", len(w.names)+1)
			w.note("%s is added to the inventory", added)
			w.names = append(w.names, added)
			w.hosts[added] = &machine{}
		}
	case 4: // a host boots with another address, never so many that a majority is gone
		if w.marked && w.majorityWithout(name) {
			w.note("%s has another address", name)
			w.hosts[name].running = false
			w.hosts[name].moves++
		}
	}
}

// majorityWithout reports whether a majority of the voters has its data and its address
// without a host.
func (w *world) majorityWithout(name string) bool {
	voters, left := 0, 0
	for _, m := range w.members {
		if m.Learner {
			continue
		}
		voters++
		if h := w.hostOf(m.ID); h != "" && h != name && w.reached(h) {
			left++
		}
	}
	return left >= voters/2+1
}

func TestEtcdSurvivesKilledRuns(t *testing.T) {
	for seed := range uint64(1200) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, 1+2*r.IntN(3))
		w.note("seed %d", seed)
		for range 1 + r.IntN(8) {
			done := w.install(r.IntN(12))
			w.note("-- install done=%v", done)
			w.harm(r)
		}
		// A few undisturbed runs end in one whole cluster, whatever happened before.
		for range 2 * len(w.names) {
			w.install(1 << 30)
			w.note("-- undisturbed install")
		}
		if !w.whole() {
			w.fail("the cluster is not whole: %+v", w.members)
		}
	}
}
