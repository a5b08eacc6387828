package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

func TestPlanEtcdReplacement(t *testing.T) {
	t.Parallel()
	a, b, c := voter(1, "a"), voter(2, "b"), voter(3, "c")
	for name, tt := range map[string]struct {
		probe cluster.EtcdProbe
		live  *cluster.EtcdLive
		want  cluster.EtcdReplacement
		wrong string
	}{
		"a dead member with data":        {probe("c", data), live(a, b, dead(c)), cluster.EtcdReplacement{RemoveID: 3, Archive: true}, ""},
		"a dead member without data":     {probe("c"), live(a, b, dead(c)), cluster.EtcdReplacement{RemoveID: 3}, ""},
		"a member that serves":           {probe("c", data), live(a, b, c), cluster.EtcdReplacement{RemoveID: 3, Serves: true, Archive: true}, ""},
		"one of two that serves":         {probe("b", data), live(a, b), cluster.EtcdReplacement{RemoveID: 2, Serves: true, Archive: true}, ""},
		"removed by hand":                {probe("c", data), live(a, b), cluster.EtcdReplacement{Archive: true}, ""},
		"killed between remove and add":  {probe("c"), live(a, b), cluster.EtcdReplacement{}, ""},
		"killed between add and start":   {probe("c"), live(a, b, learner(unstarted(c))), cluster.EtcdReplacement{RemoveID: 3, Learner: true}, ""},
		"a learner that never caught up": {probe("c", data), live(a, b, learner(c)), cluster.EtcdReplacement{RemoveID: 3, Serves: true, Learner: true, Archive: true}, ""},
		"no majority":                    {probe("c", data), nil, cluster.EtcdReplacement{}, "no majority"},
		"unreachable":                    {probe("c", unreachable), live(a, b, dead(c)), cluster.EtcdReplacement{}, "scale-down --dead c"},
		"another is down":                {probe("c", data), live(a, dead(b), c), cluster.EtcdReplacement{}, "member b does not serve"},
		"another is joining":             {probe("c", data), live(a, learner(b), c), cluster.EtcdReplacement{}, "member b is still joining"},
		"the only member":                {probe("a", data), live(a), cluster.EtcdReplacement{}, "the only voting member"},
		"the only voter":                 {probe("a", data), live(a, learner(b)), cluster.EtcdReplacement{}, "still joining"},
	} {
		got, err := cluster.PlanEtcdReplacement(tt.probe, tt.live)
		if got != tt.want || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %+v, error %v; want %+v, %q", name, got, err, tt.want, tt.wrong)
		}
	}
}

// damage breaks the member of a host in one of the ways that a replacement repairs.
func (w *world) damage(r *rand.Rand, name string) {
	h := w.hosts[name]
	switch r.IntN(6) {
	case 0:
		w.note("%s stops", name)
		h.running = false
	case 1:
		w.note("%s loses its data", name)
		*h = machine{}
	case 2:
		if live := w.live(); live != nil && cluster.EtcdMayRemove(live, h.member) == nil {
			w.note("%s is removed by hand", name)
			w.remove(h.member)
			h.running = false // etcd ends when it reads that it was removed
		}
	case 3:
		w.note("%s holds the data of another cluster", name)
		*h = machine{data: 7, member: 7}
	case 4:
		if live := w.live(); live != nil && cluster.EtcdMayRemove(live, h.member) == nil && len(live.Members) > 1 {
			w.note("%s hangs as a learner", name)
			w.remove(h.member)
			*h = machine{}
			w.add(name)
			w.takeIdentity(name, w.members[len(w.members)-1])
			w.members[len(w.members)-1].Name = name
			h.stuck = true
		}
	}
}

// stopAnother sometimes stops the member of another host, if a majority serves without it.
func (w *world) stopAnother(r *rand.Rand, name string) {
	other := w.names[r.IntN(len(w.names))]
	if other == name || r.IntN(2) == 0 {
		return
	}
	w.hosts[other].running = false
	if w.live() == nil {
		w.hosts[other].running = true
		return
	}
	w.note("%s stops, too", other)
}

// replace executes the steps of the playbook etcd-replace, and stops after a number
// of steps. The name of the former data says that the host has set it aside.
func (w *world) replace(name, id string, budget int) (done bool) {
	spent := func() bool { budget--; return budget < 0 }
	h := w.hosts[name]
	if !slices.Contains(h.former, id) {
		plan, err := cluster.PlanEtcdReplacement(w.probe(name), w.live())
		if err != nil {
			w.note("no replacement: %v", err)
			return true
		}
		if plan.RemoveID != 0 {
			if spent() {
				return false
			}
			if err := cluster.EtcdMayRemove(w.live(), plan.RemoveID); err != nil {
				w.fail("a planned removal is refused: %v", err)
			}
			w.remove(plan.RemoveID)
		}
		if spent() {
			return false
		}
		w.note("%s puts its data aside", name)
		*h = machine{former: append(h.former, id)}
	}
	step := cluster.PlanEtcd(w.probes(), w.live()).Hosts[name]
	if step.Action == cluster.EtcdRefuse || step.Action == cluster.EtcdBootstrap {
		w.note("%s: %s (%s)", name, step.Action, step.Reason)
		return true
	}
	return w.change(name, step, spent)
}

// TestReplacementSurvivesKills damages one member, kills its replacement at any
// place, resumes it or begins another one, and requires that the cluster serves all
// the time and is whole at the end.
func TestReplacementSurvivesKills(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t, 3+2*r.IntN(2))
		w.note("seed %d", seed)
		w.install(1 << 30)
		for round := range 1 + r.IntN(3) {
			name := w.names[r.IntN(len(w.names))]
			w.damage(r, name)
			w.stopAnother(r, name)
			id := fmt.Sprintf("replacement %d", round)
			for range r.IntN(4) {
				if w.replace(name, id, r.IntN(6)) {
					break
				}
				w.note("-- killed")
				w.mustServe("a killed replacement")
				switch r.IntN(3) {
				case 0:
					id += " again" // the command is given again instead of resumed
				case 1:
					w.install(r.IntN(6)) // an install runs in between
				}
			}
			w.note("-- undisturbed replacement")
			for _, h := range w.hosts {
				h.running = h.running || h.data == w.id && h != w.hosts[name]
			}
			if !w.replace(name, id+" at last", 1<<30) || !w.whole() {
				w.fail("after the replacement the cluster is not whole: %+v", w.members)
			}
		}
	}
}
