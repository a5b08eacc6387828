package decide

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

var onlySeed = flag.Int64("seed", -1, "repeat the random world of this seed, which a failure names")

// seeds calls f with a source of random numbers for each of n seeds, and names the seed of a failure.
func seeds(t *testing.T, n int, f func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	first, end := int64(0), int64(n)
	if *onlySeed >= 0 {
		first, end = *onlySeed, *onlySeed+1
	}
	for seed := first; seed < end && !t.Failed(); seed++ {
		failed := true
		func() {
			defer func() {
				if failed || t.Failed() {
					t.Logf("go test ./keeper/decide -run '^%s$' -seed %d repeats it", t.Name(), seed)
				}
			}()
			f(t, rand.New(rand.NewPCG(uint64(seed), 1)))
			failed = false
		}()
	}
}

// chance is true once in n times.
func chance(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// randomWorld returns a cluster in any state, and what each host of etcd has of its member.
func randomWorld(r *rand.Rand, s *cluster.KeeperSpec) (world.World, map[string]world.Own) {
	w := world.World{Now: now}
	for i := range 1 + r.IntN(12) {
		n := world.Node{Name: fmt.Sprintf("h%d", i), UID: fmt.Sprint(i), Master: chance(r, 3), Reach: world.Answers,
			Ready: []world.Readiness{world.True, world.True, world.True, world.False, world.Unknown}[r.IntN(5)], Since: now.Add(-time.Duration(r.IntN(7200)) * time.Second)}
		if n.Ready == world.Unknown {
			n.Reach = world.Silent
		}
		if chance(r, 4) {
			n.Reach = world.Reach(r.IntN(3))
		}
		if chance(r, 6) {
			n.Maintenance = &world.Maintenance{Until: now.Add(time.Duration(r.IntN(1200)-600) * time.Second)}
		}
		for j := range r.IntN(4) {
			p := world.Pod{Namespace: "default", Name: fmt.Sprintf("p%d-%d", i, j), UID: fmt.Sprintf("%d-%d", i, j), Node: n.Name, Running: true}
			if chance(r, 2) {
				p.Deleted = now.Add(-time.Duration(r.IntN(120)) * time.Second)
			}
			w.Ending = append(w.Ending, p)
		}
		if chance(r, 6) {
			n.OutOfService = &world.OutOfService{ByKeeper: !chance(r, 3)}
		}
		n.Reboots = chance(r, 8)
		if chance(r, 6) {
			w.Fences = append(w.Fences, world.Fencing{Node: n.Name, UID: n.UID, At: now.Add(-time.Duration(r.IntN(3600)) * time.Second)})
		}
		w.Nodes = append(w.Nodes, n)
	}
	w.Watched, w.Scaled = [][]world.Pod{randomWatched(r)}, [][]world.Object{{{Kind: "StatefulSet", Name: "db", Replicas: r.IntN(6) - 1, Patched: chance(r, 2)}}}
	s.StuckContainers = []cluster.StuckContainerSpec{{Namespace: "default", Selector: "app=db", Container: "db", For: 5 * time.Minute}}
	s.Scale = []cluster.ScalePolicySpec{{Kind: "StatefulSet", Namespace: "default", Selector: "app=db", ReadyNodes: 1 + r.IntN(4), Min: 1 + r.IntN(2), Max: 2 + r.IntN(3), Shrink: chance(r, 2)}}
	owns := randomEtcd(r, &w)
	return w, owns
}

// randomWatched returns pods of a setting of stuck containers.
func randomWatched(r *rand.Rand) []world.Pod {
	var out []world.Pod
	for i := range r.IntN(4) {
		p := world.Pod{Namespace: "default", Name: fmt.Sprintf("db-%d", i), UID: fmt.Sprintf("db-%d", i), Running: !chance(r, 5), Started: now.Add(-time.Hour),
			ReadySince: now.Add(-time.Duration(r.IntN(3600)) * time.Second), ContainersReady: []world.Readiness{world.True, world.False, world.False, world.Unknown}[r.IntN(4)], Containers: map[string]bool{"db": chance(r, 2)}}
		if chance(r, 5) {
			p.Deleted = now.Add(-time.Minute)
		}
		out = append(out, p)
	}
	return out
}

// randomEtcd gives the first hosts members of etcd in any state. Members serve only with a majority, as in
// etcd; all else is free.
func randomEtcd(r *rand.Rand, w *world.World) map[string]world.Own {
	owns := map[string]world.Own{}
	w.Etcd = world.Etcd{Known: !chance(r, 10), NoSpace: chance(r, 5)}
	for i := range min([]int{1, 2, 3, 3, 3, 5}[r.IntN(6)], len(w.Nodes)) {
		n := &w.Nodes[i]
		n.Master, n.Etcd = true, true
		m := cluster.EtcdMemberState{Host: n.Name, Member: n.Name, ID: fmt.Sprintf("e%d", i), Listed: true, Answers: !chance(r, 6)}
		own := world.Member{Served: true, Data: true}
		switch r.IntN(12) {
		case 0:
			m.Answers, own.Data = false, false
		case 1:
			m.Listed, m.Answers, m.ID = false, false, ""
		case 2:
			m.Learner, own.Served = true, false
		}
		if m.DBSize = int64(r.IntN(300)) << 20; chance(r, 2) {
			m.DBInUse = m.DBSize
		}
		w.Etcd.Members = append(w.Etcd.Members, m)
		owns[n.Name] = world.Own{Member: &own}
	}
	if chance(r, 20) {
		w.Etcd.Members = append(w.Etcd.Members, cluster.EtcdMemberState{Member: "x", ID: "x", Listed: true, Answers: chance(r, 2)})
	}
	serve(w.Etcd.Members)
	return owns
}

// serve sets which members serve and who leads: those that answer and vote, while they are a majority.
func serve(members []cluster.EtcdMemberState) {
	voters, answer := votes(members)
	led := false
	for i := range members {
		m := &members[i]
		m.Serves = m.Answers && m.Listed && !m.Learner && answer >= voters/2+1
		m.Leader = m.Serves && !led
		led = led || m.Leader
	}
}

// votes returns the number of members that vote, and how many of them answer.
func votes(members []cluster.EtcdMemberState) (voters, answer int) {
	for _, m := range members {
		if m.Listed && !m.Learner {
			voters++
			if m.Answers {
				answer++
			}
		}
	}
	return voters, answer
}

// taking returns the host whose member of etcd an action takes away, or makes silent for a while; empty for
// none. Several are silent in turn while etcd is defragmented: "each".
func taking(a Action, w world.World) string {
	switch a.Kind {
	case Defragment, FreeSpace:
		return "each"
	case RejoinEtcd:
		return a.Object.Name
	case Purge, Fence:
		if at := memberOf(a.Node.Name, w.Etcd); a.Node.Etcd && (at < 0 || w.Etcd.Members[at].Listed) {
			return a.Node.Name
		}
	}
	return ""
}

// checkAction fails the test when an action of one keeper must not be.
func checkAction(t *testing.T, s cluster.KeeperSpec, w world.World, a Action) {
	t.Helper()
	n := a.Node
	if a.Kind == Purge || a.Kind == Fence || a.Kind == ForceDelete {
		reached := 0
		for _, other := range w.Nodes {
			if other.Name == n.Name && other != n {
				t.Fatalf("%s is about another state of its node than the world has", a)
			}
			if other.Reach == world.Answers {
				reached++
			}
		}
		at := memberOf(n.Name, w.Etcd)
		if n.Ready != world.Unknown || n.Reach != world.Silent || n.Maintenance.Active(w.Now) || at >= 0 && w.Etcd.Members[at].Answers {
			t.Fatalf("%s of node %+v", a, n)
		}
		if a.Kind != Fence && len(s.Fence.Hooks) > 0 && n.OutOfService == nil {
			t.Fatalf("%s although the machine may run", a)
		}
		if 2*reached <= len(w.Nodes) {
			t.Fatalf("%s although only %d of %d hosts answer", a, reached, len(w.Nodes))
		}
	}
	switch a.Kind {
	case ForceDelete:
		if at := slices.IndexFunc(w.Ending, func(p world.Pod) bool { return p.UID == a.Object.UID }); at < 0 || w.Ending[at].Node != n.Name || w.Ending[at].Deleted.IsZero() {
			t.Fatalf("%s, which nobody has deleted", a)
		}
	case Fence:
		tried := map[string]bool{n.Name: true}
		for _, f := range w.Fences {
			tried[f.Node] = true
			if f.Node == n.Name && f.UID == n.UID && f.At.After(n.Since) && w.Now.Sub(f.At) < 5*time.Minute {
				t.Fatalf("%s again after %s", a, w.Now.Sub(f.At))
			}
		}
		if n.OutOfService != nil || n.Reboots && w.Now.Sub(n.Since) < 30*time.Minute || len(tried) > *s.Fence.MaxPerHour {
			t.Fatalf("%s of node %+v with %+v, at most %d in an hour", a, n, w.Fences, *s.Fence.MaxPerHour)
		}
	case Unfence:
		if n.OutOfService == nil || !n.OutOfService.ByKeeper || n.Ready != world.True {
			t.Fatalf("%s of node %+v", a, n)
		}
	case Purge:
		masters, minions := 0, 0
		for _, other := range w.Nodes {
			if other.Name != n.Name && other.Ready == world.True {
				if other.Master {
					masters++
				} else {
					minions++
				}
			}
		}
		if masters < *s.Purge.MinReadyMasters || minions < s.Purge.MinReadyMinions {
			t.Fatalf("%s leaves %d masters and %d minions", a, masters, minions)
		}
	case Delete:
		if p := w.Watched[0][slices.IndexFunc(w.Watched[0], func(p world.Pod) bool { return p.UID == a.Object.UID })]; p.Containers["db"] || !p.Deleted.IsZero() || w.Now.Sub(p.ReadySince) < 5*time.Minute {
			t.Fatalf("%s: %+v", a, p)
		}
	case Scale:
		if policy, has := s.Scale[0], w.Scaled[0][0].Replicas; a.Replicas < policy.Min || a.Replicas > policy.Max || a.Replicas < has && !policy.Shrink {
			t.Fatalf("%s: from %d replicas by %+v", a, has, policy)
		}
	}
	switch host := taking(a, w); host {
	case "":
	default:
		// All others serve, so that the quorum is kept without this member.
		voters, serving := 0, 0
		for _, m := range w.Etcd.Members {
			if m.Host == host && host != "" {
				if m.Listed && !m.Learner {
					voters++
				}
				continue
			}
			if a.Kind == FreeSpace && !*s.Etcd.Replace && m.Host != "" && !m.Listed {
				continue // it has left, and does not come back
			}
			voters++
			if !m.Serves || m.Learner {
				t.Fatalf("%s while member %s does not serve: %+v", a, m.Host, w.Etcd.Members)
			}
			serving++
		}
		if host != "each" && serving < voters/2+1 {
			t.Fatalf("%s leaves %d of %d voters", a, serving, voters)
		}
	}
}

// TestInvariants: whatever the world is, and whichever keeper leads, all keepers that see it together clear deleted
// pods of silent hosts only, purge at most one node and keep the minimums, do nothing where they reach no
// majority, and take at most one member of etcd away, while all others serve.
func TestInvariants(t *testing.T) {
	acted, blocked := map[Kind]int{}, 0
	seeds(t, 1500, func(t *testing.T, r *rand.Rand) {
		s := settings()
		w, owns := randomWorld(r, &s)
		*s.Etcd.Replace, *s.Etcd.FreeSpace = !chance(r, 4), !chance(r, 4)
		s.Purge.MinReadyMasters, s.Purge.MinReadyMinions = new(1+r.IntN(3)), r.IntN(3)
		if chance(r, 2) {
			s.Fence = cluster.KeeperFenceSpec{Hooks: []cluster.KeeperHookSpec{{Name: "power"}}, UnknownFor: 5 * time.Minute, MaxPerHour: new(1 + r.IntN(3))}
		}
		leader := w.Nodes[r.IntN(len(w.Nodes))].Name
		kinds, taken, seen := map[Kind]int{}, map[string]bool{}, map[string]bool{}
		for _, keeper := range w.Nodes {
			own := owns[keeper.Name]
			d := Rejoin(s.Etcd, keeper.Name, Lost(keeper.Name, own, w.Etcd), now.Add(-time.Hour), w)
			if keeper.Name == leader && len(d.Actions) == 0 {
				d.Add(All(s, w, nil))
			}
			blocked += len(d.Blocked)
			long := false
			for _, a := range d.Actions {
				acted[a.Kind]++
				kinds[a.Kind]++
				if long {
					t.Fatalf("%s after an action of minutes: %v", a, d.Actions)
				}
				long = a.long()
				if seen[a.Key()] {
					t.Fatalf("%s twice", a)
				}
				seen[a.Key()] = true
				checkAction(t, s, w, a)
				if host := taking(a, w); host != "" {
					taken[host] = true
				}
			}
		}
		if len(taken) > 1 || kinds[Purge]+kinds[Fence] > 1 || kinds[FreeSpace] > 0 && len(seen) > 1 {
			t.Fatalf("together the keepers do %v in %+v", kinds, w)
		}
	})
	if *onlySeed >= 0 {
		return
	}
	for _, kind := range []Kind{ForceDelete, Delete, Fence, Unfence, Purge, Scale, Defragment, FreeSpace, RejoinEtcd} {
		if acted[kind] < 5 {
			t.Errorf("the worlds are too good: %v", acted)
			break
		}
	}
	if blocked < 100 {
		t.Errorf("nothing is ever blocked")
	}
}
