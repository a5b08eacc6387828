package cluster_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

// world is a model of etcd on n hosts, just exact enough to show the effect of a plan
// on a cluster: which host has which data, runs, and votes.
type world struct {
	t       *testing.T
	names   []string
	hosts   map[string]*machine
	members []cluster.LiveMember // of the one cluster, once it was founded
	id      uint64               // of that cluster
	nextID  uint64
	marked  bool // deployer saw the cluster serve
	log     []string
}

type machine struct {
	data    uint64 // cluster id of its data, 0 for none
	member  uint64
	running bool
	moves   int      // times that its address has changed
	stuck   bool     // as a learner it never catches up
	former  []string // data that replacements have put aside
}

func newWorld(t *testing.T, n int) *world {
	w := &world{t: t, hosts: map[string]*machine{}, nextID: 100}
	for i := range n {
		name := fmt.Sprintf("e%d", i+1)
		w.names = append(w.names, name)
		w.hosts[name] = &machine{}
	}
	return w
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.log, "\n"))
}

func (w *world) probes() []cluster.EtcdProbe {
	var out []cluster.EtcdProbe
	for _, n := range w.names {
		out = append(out, w.probe(n))
	}
	return out
}

// url returns the peer URL of a host with its present address.
func (w *world) url(name string) string {
	return fmt.Sprintf("https://%s-%d:2380", name, w.hosts[name].moves)
}

// reached reports whether the others find the member of a host under its present address.
func (w *world) reached(name string) bool {
	return slices.ContainsFunc(w.members, func(m cluster.LiveMember) bool {
		return m.ID == w.hosts[name].member && slices.Contains(m.PeerURLs, w.url(name))
	})
}

func (w *world) probe(name string) cluster.EtcdProbe {
	p, m := probe(name), w.hosts[name]
	p.PeerURL = w.url(name)
	p.HasData, p.ClusterID, p.MemberID, p.Established = m.data != 0, m.data, m.member, w.marked
	if i := slices.IndexFunc(w.members, func(e cluster.LiveMember) bool { return e.ID == m.member }); i >= 0 && m.data != 0 {
		p.ListedPeerURL = w.members[i].PeerURLs[0]
	}
	return p
}

// live returns the cluster as its members report it: nil without a majority of its
// voters.
func (w *world) live() *cluster.EtcdLive {
	var list []cluster.LiveMember
	voters, up := 0, 0
	for _, m := range w.members {
		host := w.hostOf(m.ID)
		m.Healthy = host != "" && w.hosts[host].running && w.reached(host)
		if m.Healthy {
			m.Started = true
		}
		list = append(list, m)
		if !m.Learner {
			voters++
			if m.Healthy {
				up++
			}
		}
	}
	if voters == 0 || up < voters/2+1 {
		return nil
	}
	w.members = list // Started is what members published, and it stays
	return &cluster.EtcdLive{ClusterID: w.id, Members: slices.Clone(list)}
}

// hostOf returns the host with the data of a member; empty for none.
func (w *world) hostOf(member uint64) string {
	for _, n := range w.names {
		if h := w.hosts[n]; h.data != 0 && h.member == member {
			return n
		}
	}
	return ""
}

// start starts etcd on a host with the flags of its step.
func (w *world) start(name string, step cluster.EtcdStep) {
	h := w.hosts[name]
	w.note("start %s (%s, state %s)", name, step.Action, step.InitialState)
	if h.data != 0 {
		if h.data == w.id && w.hostOf(h.member) != "" && w.listed(h.member) && !w.reached(name) {
			w.fail("%s starts under an address that the others do not know", name)
		}
		h.running = true
		return
	}
	if step.InitialState == "new" {
		w.found(name, step)
		return
	}
	i := slices.IndexFunc(w.members, func(m cluster.LiveMember) bool { return slices.Contains(m.PeerURLs, w.url(name)) })
	if i < 0 {
		w.fail("%s starts as a member that nobody added", name)
	}
	if got, want := strings.Count(step.InitialCluster, "="), len(w.members); got != want {
		w.fail("%s starts with %d members in its list, the cluster has %d", name, got, want)
	}
	w.takeIdentity(name, w.members[i])
	w.members[i].Name = name
}

// found starts a host without data as part of a new cluster. The identities
// follow from the list, as in etcd, so equal lists make one cluster.
func (w *world) found(name string, step cluster.EtcdStep) {
	id := fingerprint(step.InitialCluster)
	if w.id == 0 {
		w.id = id
		for _, n := range w.names {
			w.members = append(w.members, cluster.LiveMember{
				ID: fingerprint(n), Name: n, PeerURLs: []string{w.url(n)},
			})
		}
	}
	if id != w.id {
		w.fail("%s founds a second cluster", name)
	}
	i := slices.IndexFunc(w.members, func(m cluster.LiveMember) bool { return m.ID == fingerprint(name) })
	if i < 0 {
		w.fail("%s comes back under an identity that was removed", name)
	}
	w.takeIdentity(name, w.members[i])
}

// takeIdentity gives a host without data a member's identity, which no host may
// have had before: a voter that forgot its votes can lose what was committed.
func (w *world) takeIdentity(name string, m cluster.LiveMember) {
	if m.Started {
		w.fail("%s takes the identity of a member that has served before, without its data", name)
	}
	h := w.hosts[name]
	h.data, h.member, h.running = w.id, m.ID, true
}

func fingerprint(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}

// install executes the steps of the roles, and stops after a number of steps as a
// killed run does.
func (w *world) install(budget int) (done bool) {
	spent := func() bool { budget--; return budget < 0 }
	probes := w.probes()
	plan := cluster.PlanEtcd(probes, w.live())
	for _, n := range w.names {
		if step := plan.Hosts[n]; step.Action == cluster.EtcdBootstrap || step.Action == cluster.EtcdMember {
			if spent() {
				return false
			}
			w.start(n, step)
		}
	}
	for _, n := range plan.Order {
		if !w.change(n, plan.Hosts[n], spent) {
			return false
		}
	}
	if w.live() != nil {
		w.marked = true
	}
	return true
}

// change executes the change of the membership for one host, if the rules allow it.
func (w *world) change(name string, step cluster.EtcdStep, spent func() bool) bool {
	live := w.live()
	if live == nil {
		w.fail("%s is changed while no cluster answers", name)
	}
	self := w.probe(name)
	if step.Action == cluster.EtcdReaddress {
		if err := cluster.EtcdMayReaddress(live, w.hosts[name].member, self.PeerURL); err != nil {
			w.note("not now: %v", err)
			return true
		}
		if spent() {
			return false
		}
		w.readdress(name)
	}
	if step.Action == cluster.EtcdReplace || step.Action == cluster.EtcdJoin {
		err := cluster.EtcdMayReplace(live, step.RemoveID)
		if step.Action == cluster.EtcdJoin {
			err = cluster.EtcdMayAdd(live)
		}
		if err != nil {
			w.note("not now: %v", err)
			return true
		}
		if step.Action == cluster.EtcdJoin && slices.ContainsFunc(live.Members, func(m cluster.LiveMember) bool { return !m.Healthy }) {
			w.fail("%s is added while a member does not serve", name)
		}
		if step.RemoveID != 0 {
			if spent() {
				return false
			}
			w.remove(step.RemoveID)
		}
		if spent() {
			return false
		}
		w.add(name)
		live = w.live()
	}
	if step.Action != cluster.EtcdMember {
		if spent() {
			return false
		}
		step.InitialCluster = live.InitialCluster(self)
		w.start(name, step)
	}
	if spent() {
		return false
	}
	w.promote(name)
	return true
}

func (w *world) remove(id uint64) {
	w.note("remove %x", id)
	w.members = slices.DeleteFunc(w.members, func(m cluster.LiveMember) bool { return m.ID == id })
	w.mustServe("removing a member")
}

func (w *world) add(name string) {
	for _, m := range w.members {
		if m.Learner || !m.Started {
			w.fail("%s is added while %q is on its way", name, m.Name)
		}
	}
	w.nextID++
	w.note("add %s as %x", name, w.nextID)
	w.members = append(w.members, cluster.LiveMember{ID: w.nextID, PeerURLs: []string{w.url(name)}, Learner: true})
	w.mustServe("adding a learner")
}

func (w *world) readdress(name string) {
	i := slices.IndexFunc(w.members, func(m cluster.LiveMember) bool { return m.ID == w.hosts[name].member })
	w.note("%x is at %s", w.members[i].ID, w.url(name))
	w.members[i].PeerURLs = []string{w.url(name)}
	w.mustServe("changing a peer URL")
}

func (w *world) listed(member uint64) bool {
	return slices.ContainsFunc(w.members, func(m cluster.LiveMember) bool { return m.ID == member })
}

func (w *world) promote(name string) {
	live := w.live()
	for i, m := range w.members {
		if m.Learner && w.hosts[name].member == m.ID && !w.hosts[name].stuck {
			if err := cluster.EtcdMayPromote(live, m.ID); err != nil {
				w.note("no promotion: %v", err)
				return
			}
			w.note("promote %s", name)
			w.members[i].Learner = false
			w.mustServe("promoting a learner")
		}
	}
}

func (w *world) mustServe(after string) {
	if w.live() == nil {
		w.fail("%s lost the quorum", after)
	}
}

// whole reports whether every host is a running voter.
func (w *world) whole() bool {
	live := w.live()
	if live == nil || len(live.Members) != len(w.names) {
		return false
	}
	return !slices.ContainsFunc(live.Members, func(m cluster.LiveMember) bool { return m.Learner || !m.Healthy })
}
