package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// simulation is a cluster over time: hosts die, return and are cut off, kubelets end, members of etcd lose their
// data, people set marks. Its keepers act on it, and their actions fail now and then.
type simulation struct {
	t        *testing.T
	r        *rand.Rand
	settings cluster.KeeperSpec
	now      time.Time
	hosts    []*simHost
	pods     []*simPod
	noSpace  bool
	replicas int
	leader   string
	serial   int // of UIDs

	purged  map[string]bool // by host and death
	tried   map[string]time.Time
	acted   map[Kind]int
	refused int // actions that failed
	fences  []world.Fencing
}

// simHost is a host with its kubelet, its Node, its keeper and its member of etcd.
type simHost struct {
	name           string
	master         bool
	up, kubelet    bool
	far            bool // on the side of a network split without the API
	deaths         int
	node           string // UID; empty: the cluster has no such Node
	ready          world.Readiness
	since, report  time.Time
	mark           *world.Maintenance
	taint          *world.OutOfService
	member         *cluster.EtcdMemberState // nil: no host of etcd
	served, data   bool
	history        History
	lost           string
	lostSince      time.Time
	busyUntil      time.Time // its keeper does an action of minutes
	finish         func()    // ends that action
	defragmentNext []string  // members that it defragments, the present one first
}

type simPod struct {
	uid, node string
	death     int  // of its host when it started: it ran until that host died
	sticky    bool // a finalizer keeps it
	deleted   time.Time
	gone      bool
	db        bool // a setting of stuck containers selects it
	dbReady   bool
	since     time.Time // of dbReady
	started   time.Time
}

const simStep = 15 * time.Second

func newSimulation(t *testing.T, r *rand.Rand) *simulation {
	s := &simulation{t: t, r: r, settings: settings(), now: now, replicas: 1, purged: map[string]bool{}, tried: map[string]time.Time{}, acted: map[Kind]int{}}
	*s.settings.Etcd.Replace = true
	s.settings.Purge.UnreachableFor = 10 * time.Minute
	s.settings.Purge.MinReadyMasters, s.settings.Purge.MinReadyMinions = new(1+r.IntN(2)), r.IntN(4)
	s.settings.Fence = cluster.KeeperFenceSpec{Hooks: []cluster.KeeperHookSpec{{Name: "power"}}, UnknownFor: 5 * time.Minute, MaxPerHour: new(3)}
	s.settings.StuckContainers = []cluster.StuckContainerSpec{{Namespace: "default", Selector: "app=db", Container: "db", For: 5 * time.Minute}}
	s.settings.Scale = []cluster.ScalePolicySpec{{Kind: "StatefulSet", Namespace: "default", Selector: "app=db", ReadyNodes: 3, Min: 1, Max: 3}}
	masters := 3 + 2*r.IntN(2)
	for i := range masters + 4 + r.IntN(5) {
		h := &simHost{name: fmt.Sprintf("h%d", i), master: i < masters, up: true, kubelet: true, ready: world.True, since: now.Add(-time.Hour), report: now, history: History{}}
		h.node = s.uid()
		if h.master {
			h.served, h.data = true, true
			h.member = &cluster.EtcdMemberState{Host: h.name, Member: h.name, ID: s.uid(), Listed: true, DBSize: 200 << 20, DBInUse: 190 << 20}
		}
		s.hosts = append(s.hosts, h)
	}
	for range 3 * len(s.hosts) {
		s.newPod()
	}
	s.leader = "h0"
	return s
}

func (s *simulation) uid() string {
	s.serial++
	return fmt.Sprint("u", s.serial)
}

func (s *simulation) upTo(d time.Duration) time.Duration { return time.Duration(s.r.Int64N(int64(d))) }

func (s *simulation) host(name string) *simHost {
	return s.hosts[slices.IndexFunc(s.hosts, func(h *simHost) bool { return h.name == name })]
}

// newPod starts a pod on a Ready node.
func (s *simulation) newPod() {
	h := s.hosts[s.r.IntN(len(s.hosts))]
	if h.node == "" || h.ready != world.True || h.taint != nil || !s.reports(h) {
		return
	}
	s.pods = append(s.pods, &simPod{uid: s.uid(), node: h.name, death: h.deaths, sticky: chance(s.r, 8), db: chance(s.r, 4), dbReady: true, started: s.now, since: s.now.Add(time.Minute)})
}

// reports reports whether the kubelet of a host reaches the API.
func (s *simulation) reports(h *simHost) bool { return h.up && h.kubelet && !h.far }

// step is what happens to the cluster by itself.
func (s *simulation) step() {
	s.now = s.now.Add(simStep)
	s.accidents()
	for _, h := range s.hosts {
		if s.reports(h) {
			h.report = s.now
			if h.node == "" { // it registers again
				h.node, h.since, h.ready, h.taint = s.uid(), s.now, world.True, nil
			}
			if h.ready != world.True {
				h.ready, h.since = world.True, s.now
			}
		}
		if h.node != "" && h.ready == world.True && s.now.Sub(h.report) > 50*time.Second {
			h.ready, h.since = world.Unknown, s.now
		}
	}
	for _, p := range s.pods {
		s.live(p)
	}
	s.pods = slices.DeleteFunc(s.pods, func(p *simPod) bool { return p.gone })
	for range s.r.IntN(3) {
		if len(s.pods) < 4*len(s.hosts) {
			s.newPod()
		}
	}
	s.serve()
}

// live is what controllers and kubelets do to a pod.
func (s *simulation) live(p *simPod) {
	h := s.host(p.node)
	switch {
	case h.node == "":
		p.gone = !p.sticky // the garbage collection of pods
	case h.taint != nil && h.ready == world.Unknown:
		p.gone = !p.sticky // so does the taint
	case h.ready == world.Unknown && s.now.Sub(h.since) > 5*time.Minute && p.deleted.IsZero():
		p.deleted = s.now // the eviction of tainted nodes
	case s.reports(h) && !p.deleted.IsZero() && s.now.Sub(p.deleted) > 30*time.Second:
		p.gone = !p.sticky
	case s.reports(h) && p.db && chance(s.r, 60):
		p.dbReady, p.since = !p.dbReady, s.now
	}
	if p.sticky && chance(s.r, 40) {
		p.sticky = false
	}
}

// accidents are the changes that nobody wants, and marks of people.
func (s *simulation) accidents() {
	for _, h := range s.hosts {
		switch {
		case h.up && chance(s.r, 500):
			h.up, h.finish, h.busyUntil = false, nil, time.Time{}
			h.deaths++
		case !h.up && chance(s.r, 100):
			h.up, h.kubelet = true, true
			if h.member != nil && chance(s.r, 2) {
				h.data = false // another disk
			}
		case h.up && chance(s.r, 200):
			h.kubelet = !h.kubelet
		case h.far && chance(s.r, 30):
			h.far = false
		case !h.far && chance(s.r, 400):
			h.far = true
		case h.node != "" && chance(s.r, 200):
			h.mark = &world.Maintenance{Until: s.now.Add(s.upTo(20 * time.Minute)), By: "ann@desk"}
		}
		if h.member != nil && chance(s.r, 300) {
			h.member.DBInUse = 20 << 20
		}
	}
	if chance(s.r, 500) { // a network split
		for _, h := range s.hosts {
			h.far = chance(s.r, 2)
		}
	}
	if chance(s.r, 200) {
		s.noSpace = true
	}
	if h := s.hosts[s.r.IntN(3)]; chance(s.r, 200) && h.member.Listed && s.mayRemove(h) { // by hand
		h.member.Listed, h.member.ID = false, ""
	}
}

// serve sets which members of etcd answer and serve.
func (s *simulation) serve() {
	for _, h := range s.hosts {
		if m := h.member; m != nil {
			m.Answers = h.up && !h.far && h.data && m.Listed && !slices.ContainsFunc(s.hosts, func(k *simHost) bool { return len(k.defragmentNext) > 0 && k.defragmentNext[0] == h.name })
		}
	}
	members := s.members()
	serve(members)
	for i := range members {
		*s.host(members[i].Host).member = members[i]
	}
}

func (s *simulation) members() (out []cluster.EtcdMemberState) {
	for _, h := range s.hosts {
		if h.member != nil {
			out = append(out, *h.member)
		}
	}
	return out
}

// quorum reports whether etcd serves.
func (s *simulation) quorum() bool {
	return slices.ContainsFunc(s.members(), func(m cluster.EtcdMemberState) bool { return m.Serves })
}

// world is the cluster as the keeper of a host sees it.
func (s *simulation) world(k *simHost) world.World {
	hour := slices.DeleteFunc(slices.Clone(s.fences), func(f world.Fencing) bool { return s.now.Sub(f.At) >= time.Hour })
	w := world.World{Now: s.now, Fences: hour, Etcd: world.Etcd{Known: true, Members: s.members(), NoSpace: s.noSpace}, Watched: [][]world.Pod{nil},
		Scaled: [][]world.Object{{{Kind: "StatefulSet", Namespace: "default", Name: "db", Replicas: s.replicas, Patched: true}}}}
	for i, m := range w.Etcd.Members {
		if s.host(m.Host).far != k.far {
			w.Etcd.Members[i].Answers, w.Etcd.Members[i].Serves = false, false
		}
	}
	for _, h := range s.hosts {
		if h.node == "" {
			continue
		}
		n := world.Node{Name: h.name, UID: h.node, Master: h.master, Etcd: h.member != nil, Ready: h.ready, Since: h.since, Reach: world.Silent, Maintenance: h.mark, OutOfService: h.taint}
		if s.reaches(k, h) {
			n.Reach = world.Answers
		}
		w.Nodes = append(w.Nodes, n)
	}
	for _, p := range s.pods {
		q := world.Pod{Namespace: "default", Name: p.uid, UID: p.uid, Node: p.node, Running: true, Deleted: p.deleted, Started: p.started, ContainersReady: world.True, ReadySince: p.since, Containers: map[string]bool{"db": p.dbReady}}
		if !p.dbReady {
			q.ContainersReady = world.False
		}
		if h := s.host(p.node); h.ready == world.Unknown && h.node != "" && !p.deleted.IsZero() {
			w.Ending = append(w.Ending, q)
		}
		if p.db {
			w.Watched[0] = append(w.Watched[0], q)
		}
	}
	return w
}

func (s *simulation) reaches(k, h *simHost) bool { return h.up && h.far == k.far }

// pass is one pass of the keeper of a host, as keeper.work makes it.
func (s *simulation) pass(k *simHost) {
	if !k.up || s.now.Before(k.busyUntil) {
		return
	}
	if k.finish != nil {
		k.finish()
		k.finish = nil
		return
	}
	w := s.world(k)
	var due []Action
	if k.member != nil {
		own := world.Own{Member: &world.Member{Served: k.served, Data: k.data}}
		if why := Lost(k.name, own, w.Etcd); why != k.lost {
			k.lost, k.lostSince = why, s.now
		}
		due = k.history.Fresh(Rejoin(s.settings.Etcd, k.name, k.lost, k.lostSince, w).Actions, s.now)
	}
	if len(due) == 0 && k.name == s.leader && !k.far && s.quorum() {
		due = All(s.settings, w, k.history).Actions
	}
	k.history.Forget(s.now)
	for _, a := range due {
		checkAction(s.t, s.settings, w, a)
		k.history[a.Key()] = s.now
		s.acted[a.Kind]++
		s.do(k, a)
	}
}

// do carries out an action, and fails the test when it must not be.
func (s *simulation) do(k *simHost, a Action) {
	key := k.name + " " + a.Key()
	if last, done := s.tried[key]; done && s.now.Sub(last) < again {
		s.t.Fatalf("%s: %s again after %s", k.name, a, s.now.Sub(last))
	}
	s.tried[key] = s.now
	if taking(a, s.world(k)) != "" {
		for _, other := range s.hosts {
			if other != k && other.up && s.now.Before(other.busyUntil) && other.finish != nil && len(other.defragmentNext) > 0 {
				s.t.Fatalf("%s: %s while %s defragments", k.name, a, other.name)
			}
		}
	}
	switch a.Kind {
	case ForceDelete, Delete:
		s.deletePod(k, a)
	case Scale:
		s.replicas = a.Replicas
	case Purge:
		s.long(k, s.upTo(5*time.Minute), func() { s.purge(a) })
	case Fence:
		s.fences = append(s.fences, world.Fencing{Node: a.Node.Name, UID: a.Node.UID, At: s.now})
		s.long(k, s.upTo(2*time.Minute), func() { s.fence(a) })
	case Unfence:
		if h := s.host(a.Node.Name); h.taint == nil || h.node != a.Node.UID || !h.up {
			s.t.Fatalf("%s, which has no taint, or is off", a)
		} else {
			h.taint = nil
		}
	case Defragment, FreeSpace:
		k.defragmentNext = nil
		for _, m := range s.members() {
			k.defragmentNext = append(k.defragmentNext, m.Host)
		}
		s.defragment(k)
	case RejoinEtcd:
		s.rejoin(k, a)
	default:
		s.t.Fatalf("%s is not wanted", a)
	}
}

// long makes the keeper of a host busy for a time, after which end is called unless the host has died.
func (s *simulation) long(k *simHost, d time.Duration, end func()) {
	k.busyUntil, k.finish = s.now.Add(d), end
}

func (s *simulation) deletePod(k *simHost, a Action) {
	at := slices.IndexFunc(s.pods, func(p *simPod) bool { return p.uid == a.Object.UID })
	if at < 0 || s.pods[at].gone {
		s.t.Fatalf("%s twice", a)
	}
	p := s.pods[at]
	if a.Kind == Delete {
		p.deleted = s.now
		return
	}
	// A host that is cut off from the keeper looks dead, and its pods may run: nothing in the cluster can know.
	if h := s.host(p.node); h.deaths == p.death && s.reaches(k, h) {
		s.t.Fatalf("%s: %s, and it runs", k.name, a)
	}
	p.gone = !p.sticky
}

// fence ends a fence. Its hooks may fail; they switch the machine off, also one that is only cut off.
func (s *simulation) fence(a Action) {
	h := s.host(a.Node.Name)
	if chance(s.r, 3) {
		s.refused++
		return
	}
	if h.up {
		h.up, h.finish, h.busyUntil = false, nil, time.Time{}
		h.deaths++
	}
	if h.node == a.Node.UID && h.ready == a.Node.Ready && h.since.Equal(a.Node.Since) && !h.mark.Active(s.now) {
		h.taint = &world.OutOfService{ByKeeper: true}
	}
}

// purge ends a purge. Its hooks may fail, and the removal of a member is refused as etcd.Remove does.
func (s *simulation) purge(a Action) {
	h := s.host(a.Node.Name)
	if chance(s.r, 3) || s.noSpace {
		s.refused++
		return
	}
	if m := h.member; m != nil && m.Listed {
		if m.Answers || !s.mayRemove(h) {
			s.refused++
			return
		}
		m.Listed, h.served = false, true
	}
	if h.node != a.Node.UID {
		return
	}
	key := fmt.Sprint(h.name, "/", h.deaths, "/", h.node)
	if s.purged[key] {
		s.t.Fatalf("%s twice for one death", a)
	}
	s.purged[key] = true
	h.node = ""
	s.serve()
}

// mayRemove is the rule of etcd.Remove right before the removal.
func (s *simulation) mayRemove(h *simHost) bool {
	voters, answer := votes(s.members())
	if h.member.Listed && !h.member.Learner {
		voters--
	}
	return answer >= voters/2+1 && s.quorum()
}

// defragment makes the members silent, one for each time that the keeper is busy.
func (s *simulation) defragment(k *simHost) {
	s.serve()
	s.long(k, 30*time.Second, func() {
		done := s.host(k.defragmentNext[0]).member
		done.DBSize = done.DBInUse + 1<<20
		k.defragmentNext = k.defragmentNext[1:]
		s.serve()
		if slices.ContainsFunc(s.members(), func(m cluster.EtcdMemberState) bool { return !m.Serves || m.Learner }) {
			k.defragmentNext = nil // as Defragmentation.Run
		} else if len(k.defragmentNext) > 0 {
			s.defragment(k)
		} else {
			s.noSpace = false
		}
	})
}

// rejoin replaces the member of a host: removed, a learner, a voter.
func (s *simulation) rejoin(k *simHost, a Action) {
	had := s.quorum()
	if a.Member != "" && a.Member != k.member.ID {
		s.t.Fatalf("%s removes member %s of %+v", a, a.Member, *k.member)
	}
	if !a.Finish {
		*k.member = cluster.EtcdMemberState{Host: k.name, Member: k.name, ID: s.uid(), Listed: true, Learner: true, DBSize: 100 << 20, DBInUse: 100 << 20}
		k.data, k.served = true, false
	}
	s.serve()
	if had && !s.quorum() {
		s.t.Fatalf("%s ends the quorum", a)
	}
	s.long(k, time.Minute, func() {
		if m := k.member; m.Learner && m.Answers && !chance(s.r, 3) {
			m.Learner, k.served = false, true
			s.serve()
			if !s.quorum() {
				s.t.Fatalf("a vote more, and etcd has no quorum: %+v", s.members())
			}
		}
	})
}

// elect chooses another leader when the former one is dead or cut off, and now and then.
func (s *simulation) elect() {
	if k := s.host(s.leader); k.up && !k.far && !chance(s.r, 100) || s.now.Before(s.host(s.leader).busyUntil) {
		return
	}
	for _, i := range s.r.Perm(len(s.hosts)) {
		if h := s.hosts[i]; h.master && h.up && !h.far {
			s.leader = h.name
			return
		}
	}
}

// TestSimulation: over hours of accidents no keeper deletes a pod that runs on a host that it reaches, a node is
// purged once for each death, nothing is repeated at once, the quorum of etcd is kept, and one member is away at a
// time.
func TestSimulation(t *testing.T) {
	acted, refused := map[Kind]int{}, 0
	seeds(t, 8, func(t *testing.T, r *rand.Rand) {
		s := newSimulation(t, r)
		for range int(4 * time.Hour / simStep) {
			s.step()
			s.elect()
			for _, h := range s.hosts {
				if h.master {
					s.pass(h)
				}
			}
		}
		for kind, n := range s.acted {
			acted[kind] += n
		}
		refused += s.refused
	})
	if *onlySeed >= 0 {
		return
	}
	for _, kind := range []Kind{ForceDelete, Delete, Fence, Unfence, Purge, Scale, Defragment, FreeSpace, RejoinEtcd} {
		if acted[kind] == 0 || refused == 0 {
			t.Errorf("too little happened: %v, %d refused", acted, refused)
			break
		}
	}
}
