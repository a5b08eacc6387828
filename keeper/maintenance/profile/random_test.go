package profile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// random world: nodes whose labels, profiles and annotations change at random, facts that fail at random, and passes
// that store what is decided, or fail to.
type randomWorld struct {
	r      *rand.Rand
	config *Config
	world  *World
	facts  *answers
	taken  []time.Time
}

func newRandomWorld(seed uint64, c *Config) *randomWorld {
	facts := &answers{leases: map[string]Lease{}}
	w := &randomWorld{r: rand.New(rand.NewPCG(seed, 1)), config: c, facts: facts,
		world: &World{Now: saturday, Busy: map[string]string{}, Facts: facts}}
	for i := range 3 + w.r.IntN(5) {
		n := member(fmt.Sprintf("n%d", i), Operational)
		n.Annotations = map[string]string{}
		w.world.Nodes = append(w.world.Nodes, n)
	}
	return w
}

// change changes something about a node.
func (w *randomWorld) change(n *corev1.Node) {
	switch w.r.IntN(12) {
	case 0:
		n.Labels[ProfileLabel] = []string{"a", "b", "a--b", "b--a", "a--gone", ""}[w.r.IntN(6)]
	case 1, 2, 3:
		n.Labels["a"] = ""
	case 4, 5:
		delete(n.Labels, "a")
	case 6, 7:
		n.Labels["b"] = ""
	case 8:
		delete(n.Labels, "b")
	case 9:
		if w.r.IntN(4) == 0 {
			n.Annotations[DataAnnotation] = []string{`{"Profiles":{"a":{"Current":"odd","Previous":"odd"}}}`, "[]", ""}[w.r.IntN(3)]
		}
	}
}

// visit decides about a node and stores the result, as a controller does.
func (w *randomWorld) visit(t *testing.T, n *corev1.Node) {
	before := n.Annotations[DataAnnotation]
	data, err := ParseData(before)
	if err != nil {
		return // and the node keeps what nobody understands
	}
	old := data.Clone()
	maintained := w.maintained()
	d := Decide(w.config, n, data, w.world)
	if old.String() != data.String() {
		t.Fatal("Decide changed the stored states")
	}
	if d.Err != nil {
		for _, p := range d.Profiles {
			if p.Next != p.State || len(p.Do)+len(p.Take)+len(p.Notify)+len(p.Enter) > 0 {
				t.Fatalf("after an error: %+v", p)
			}
		}
		return
	}
	for _, name := range d.Unknown {
		if p := old.Profiles[name]; p != nil && *d.Data.Profiles[name] != *p {
			t.Fatalf("the state of profile %s, which the file lacks, changed", name)
		}
	}
	if w.r.IntN(8) == 0 {
		return // the API does not store it
	}
	entered := 0
	for _, p := range d.Profiles {
		progress := d.Data.Profiles[p.Profile]
		progress.Previous = p.State
		if p.Next == p.State {
			continue
		}
		progress.Current, progress.Transition = p.Next, w.world.Now
		for _, take := range p.Take {
			if l, ok := w.facts.leases[take.Key.Name]; ok && !l.Free(w.world.Now) {
				t.Fatalf("node %s takes lease %s of %s", n.Name, take.Key, l.Holder)
			}
			w.facts.leases[take.Key.Name] = Lease{n.Name, w.world.Now, take.Duration}
		}
		if p.Next == InMaintenance {
			entered++
			w.taken = append(w.taken, w.world.Now)
			if maintained >= 2 {
				t.Fatalf("node %s goes into maintenance as number %d of 2", n.Name, maintained+1)
			}
		}
	}
	if entered > 1 {
		t.Fatalf("node %s goes into maintenance for two profiles", n.Name)
	}
	n.Annotations[DataAnnotation] = d.Data.String()
	n.Labels[StateLabel] = string(d.Data.Serious(NamesOf(n.Labels)))
}

// maintained counts nodes in maintenance, and checks that each is for one profile only.
func (w *randomWorld) maintained() int {
	count := 0
	for _, n := range w.world.Nodes {
		if w.world.maintained(n) {
			count++
		}
	}
	return count
}

func (w *randomWorld) check(t *testing.T) {
	for _, n := range w.world.Nodes {
		data, err := ParseData(n.Annotations[DataAnnotation])
		if err != nil {
			continue
		}
		in := 0
		for _, p := range data.Profiles {
			if p.Current == InMaintenance {
				in++
			}
		}
		if in > 1 {
			t.Fatalf("node %s is in maintenance for %d profiles: %s", n.Name, in, data)
		}
	}
	for i := 1; i < len(w.taken); i++ {
		if d := w.taken[i].Sub(w.taken[i-1]); d <= 5*time.Minute {
			t.Fatalf("two nodes went into maintenance within %s", d)
		}
	}
}

func TestRulesHoldInRandomWorlds(t *testing.T) {
	transitions, c := 0, load(t, two)
	for seed := range uint64(15) {
		w := newRandomWorld(seed, c)
		for range 80 {
			w.world.Now = w.world.Now.Add(time.Duration(w.r.IntN(240)) * time.Second)
			w.facts.value = float64(w.r.IntN(2))
			w.facts.err = nil
			if w.r.IntN(10) == 0 {
				w.facts.err = errors.New("no answer")
			}
			for _, n := range w.world.Nodes {
				w.change(n)
				w.visit(t, n)
			}
			w.check(t)
		}
		transitions += len(w.taken)
	}
	if transitions < 50 {
		t.Errorf("only %d nodes went into maintenance: the worlds test little", transitions)
	}
}
