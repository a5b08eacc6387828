package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

var postAdd = []cluster.KeeperHookSpec{{Name: "inventory", Command: []string{"/bin/true"}}}

func TestPostAddOf(t *testing.T) {
	joined := world.Node{Name: "n1", UID: "u1", Ready: world.True, Created: now.Add(-time.Minute)}
	with := func(f func(*world.Node)) world.Node {
		n := joined
		f(&n)
		return n
	}
	failed := func(times int, ago time.Duration) world.Node {
		return with(func(n *world.Node) {
			n.PostAdd = world.Attempts{Failures: times, Last: now.Add(-ago), Error: "exit code 1"}
		})
	}
	for name, c := range map[string]struct {
		node  world.Node
		hooks []cluster.KeeperHookSpec
		since time.Time
		runs  bool
	}{
		"joined":               {joined, postAdd, now.Add(-time.Hour), true},
		"in the same second":   {joined, postAdd, joined.Created, true},
		"there before":         {joined, postAdd, now, false},
		"no hooks":             {joined, nil, now.Add(-time.Hour), false},
		"not known since when": {joined, postAdd, time.Time{}, false},
		"hooks have run":       {with(func(n *world.Node) { n.PostAdded = true }), postAdd, now.Add(-time.Hour), false},
		"not Ready yet":        {with(func(n *world.Node) { n.Ready = world.False }), postAdd, now.Add(-time.Hour), false},
		"silent":               {with(func(n *world.Node) { n.Ready = world.Unknown }), postAdd, now.Add(-time.Hour), false},
		"failed just now":      {failed(1, time.Minute), postAdd, now.Add(-time.Hour), false},
		"failed once":          {failed(1, 5*time.Minute), postAdd, now.Add(-time.Hour), true},
		"failed twice":         {failed(2, 9*time.Minute), postAdd, now.Add(-time.Hour), false},
		"failed twice, waited": {failed(2, 10*time.Minute), postAdd, now.Add(-time.Hour), true},
		"failed often":         {failed(100, 59*time.Minute), postAdd, now.Add(-time.Hour), false},
		"failed often, waited": {failed(100, time.Hour), postAdd, now.Add(-time.Hour), true},
	} {
		d := PostAddOf(c.hooks, world.World{Now: now, PostAddSince: c.since, Nodes: []world.Node{c.node}})
		if runs := len(d.Actions) == 1; runs != c.runs || len(d.Blocked) > 0 {
			t.Errorf("%s: %v, want an action: %t", name, d, c.runs)
		}
	}
	w := world.World{Now: now, PostAddSince: now.Add(-time.Hour), Nodes: []world.Node{failed(2, time.Minute)}}
	if p := Problems(settings(), w, Decision{}); len(p) != 1 || p[0].Reason != PostAddFailed || !strings.Contains(p[0].Message, "node n1 (2 times, again at 03:09:00 UTC): exit code 1") {
		t.Errorf("%v", p)
	}
	w.Nodes = nil
	for i := range 3 * maxPostAdd {
		w.Nodes = append(w.Nodes, world.Node{Name: fmt.Sprintf("n%d", i), UID: fmt.Sprint(i), Ready: world.True, Created: now.Add(-time.Duration(i) * time.Second)})
	}
	if d := PostAddOf(postAdd, w); len(d.Actions) != maxPostAdd || d.Actions[0].Node.Name != fmt.Sprintf("n%d", 3*maxPostAdd-1) {
		t.Errorf("%d actions, the first of %s", len(d.Actions), d.Actions[0].Node.Name)
	}
}

// TestPostAddOverTime: nodes join, are replaced under their names, become silent, and hooks fail at random. The hooks
// of each node that joined succeed once, those of nodes that were there never run, and failures come ever more
// slowly.
func TestPostAddOverTime(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := world.World{Now: now}
		uid := 0
		add := func(name string) {
			uid++
			w.Nodes = append(w.Nodes, world.Node{Name: name, UID: fmt.Sprint(uid), Created: w.Now, Ready: world.False})
		}
		for i := range 5 {
			add(fmt.Sprintf("old%d", i))
		}
		w.Now = w.Now.Add(time.Minute)
		w.PostAddSince = w.Now
		ran, lastWait := map[string]int{}, map[string]time.Duration{}
		for range 2000 {
			w.Now = w.Now.Add(15 * time.Second)
			if r.IntN(40) == 0 && len(w.Nodes) < 30 {
				add(fmt.Sprintf("new%d", r.IntN(10)))
			}
			if r.IntN(200) == 0 {
				w.Nodes = slices.Delete(w.Nodes, 0, 1)
			}
			for i := range w.Nodes {
				if r.IntN(10) == 0 {
					w.Nodes[i].Ready = []world.Readiness{world.True, world.True, world.True, world.False, world.Unknown}[r.IntN(5)]
				}
			}
			for _, a := range PostAddOf(postAdd, w).Actions {
				at := slices.IndexFunc(w.Nodes, func(n world.Node) bool { return n.UID == a.Object.UID })
				n := &w.Nodes[at]
				if n.Ready != world.True || strings.HasPrefix(n.Name, "old") || ran[n.UID] > 0 {
					t.Fatalf("seed %d: hooks of %+v run; they have succeeded %d times", seed, n, ran[n.UID])
				}
				if n.PostAdd.Failures > 0 {
					wait := w.Now.Sub(n.PostAdd.Last)
					if wait < again || wait < min(lastWait[n.UID], maxRetry) {
						t.Fatalf("seed %d: attempt %d of %s after %s, the one before after %s", seed, n.PostAdd.Failures, n.Name, wait, lastWait[n.UID])
					}
					lastWait[n.UID] = again << (n.PostAdd.Failures - 1)
				}
				if r.IntN(3) == 0 {
					n.PostAdded, n.PostAdd = true, world.Attempts{}
					ran[n.UID]++
				} else {
					n.PostAdd = world.Attempts{Failures: n.PostAdd.Failures + 1, Last: w.Now}
				}
			}
		}
		if len(ran) < 10 {
			t.Errorf("seed %d: hooks of %d nodes have run: the world is too quiet", seed, len(ran))
		}
	}
}
