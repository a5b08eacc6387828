package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

// randomDeparture returns the hosts of a random cluster, the names of the hosts that
// leave, and the names of the dead hosts.
func randomDeparture(r *rand.Rand) (hosts []cluster.Host, leaving, dead []string) {
	add := func(prefix string, network, number int, role string) {
		for i := range number {
			h := cluster.Host{Name: fmt.Sprintf("%s%d", prefix, i+1), Address: fmt.Sprintf("10.0.%d.%d", network, i+1), Roles: []string{role}}
			hosts = append(hosts, h)
			switch r.IntN(6) {
			case 0, 1:
				leaving = append(leaving, h.Name)
			case 2:
				dead = append(dead, h.Name)
			}
		}
	}
	add("m", 1, 1+2*r.IntN(3), cluster.RoleMaster)
	add("n", 2, r.IntN(4), cluster.RoleMinion)
	add("p", 3, r.IntN(2), cluster.RoleProxy)
	if r.IntN(3) == 0 {
		add("e", 4, 3, cluster.RoleEtcd)
	}
	return hosts, leaving, dead
}

// TestRandomDepartures removes random hosts, some of them dead, from random clusters. A
// departure that is allowed leaves each function with a host, names each host that leaves in
// the lists that its roles need, and no other host's configuration names it afterwards. Its
// members leave one at a time with a majority before and after each removal, and a member
// that serves leaves only while all others serve.
func TestRandomDepartures(t *testing.T) {
	allowed, refused, removals := 0, 0, 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 5))
		hosts, leaving, gone := randomDeparture(r)
		all := slices.Concat(leaving, gone)
		spec := cluster.Spec{}
		before, err := cluster.Resolve(spec, hosts)
		if err != nil || len(all) == 0 {
			continue
		}
		spec.Etcd.AllowEven = true
		after, err := cluster.Resolve(spec, cluster.WithoutRoles(hosts, all))
		if err != nil {
			refused++
			continue
		}
		d := cluster.NewDeparture(before, leaving, gone)
		if problems := d.Check(before, after); len(problems) > 0 {
			refused++
			continue
		}
		allowed++
		fail := func(format string, args ...any) {
			t.Fatalf("seed %d: %v leave, %v are dead: %s", seed, leaving, gone, fmt.Sprintf(format, args...))
		}
		checkFunctions(fail, d, before, after, all)
		removals += checkRemovals(r, fail, d, before, gone)
	}
	if allowed < 30 || refused < 30 || removals < 30 {
		t.Errorf("%d departures are allowed, %d refused, and %d members removed: the test sees too little", allowed, refused, removals)
	}
}

// checkFunctions checks that the cluster without the hosts has all functions and does not
// name the hosts.
func checkFunctions(fail func(string, ...any), d *cluster.Departure, before, after *cluster.Cluster, all []string) {
	switch {
	case len(after.Masters) == 0, len(after.Etcd.Members) == 0:
		fail("no master or no member of etcd is left")
	case len(before.Proxies) > 0 && len(after.Proxies) == 0:
		fail("no proxy is left")
	case before.Etcd.Dedicated != after.Etcd.Dedicated:
		fail("etcd moves to other hosts")
	}
	for _, name := range all {
		n := before.Nodes[name]
		for list, want := range map[string]struct {
			names []string
			in    bool
		}{"nodes": {d.Nodes, n.IsNode}, "members": {d.Members, n.IsEtcd}, "masters": {d.Masters, n.IsMaster}, "proxies": {d.Proxies, n.IsProxy}} {
			if slices.Contains(want.names, name) != want.in {
				fail("%s is wrong in %s: %v", name, list, want.names)
			}
		}
		if m := after.Nodes[name]; m.IsNode || m.IsEtcd || m.IsMaster || m.IsProxy {
			fail("%s has a function after it has left", name)
		}
	}
	for _, name := range after.Order {
		if slices.Contains(all, name) {
			continue
		}
		for _, peer := range after.Nodes[name].BGP.Peers {
			if slices.Contains(all, peer.Name) {
				fail("%s has a BGP session with %s", name, peer.Name)
			}
		}
		for _, gone := range d.PeerURLs {
			client := strings.Replace(gone, ":2380", ":2379", 1)
			if slices.ContainsFunc(after.Nodes[name].Args.APIServer, func(a string) bool { return strings.Contains(a, client) }) {
				fail("the API server of %s uses the member at %s", name, client)
			}
		}
	}
	for _, e := range after.API.Endpoints {
		if slices.Contains(all, e.Name) {
			fail("API proxies use %s", e.Name)
		}
	}
}

// checkRemovals removes the members of a departure in the planned order. Members of dead
// hosts are down, and sometimes another one. It returns the number of removals.
func checkRemovals(r *rand.Rand, fail func(string, ...any), d *cluster.Departure, before *cluster.Cluster, gone []string) int {
	l := live()
	var ids []uint64
	for i, member := range before.Etcd.Members {
		name := member.Name
		m := voter(uint64(i+1), name) //nolint:gosec // few members
		m.Healthy = !slices.Contains(gone, name) && r.IntN(8) > 0
		l.Members = append(l.Members, m)
		if slices.Contains(d.Members, name) {
			ids = append(ids, m.ID)
		}
	}
	order, err := cluster.PlanEtcdRemoval(l, ids)
	if err != nil {
		return 0
	}
	members := l.Members
	for _, id := range order {
		if members = removeSafely(members, id); members == nil {
			fail("removing %d of %v costs the majority, or takes a second member: %+v", id, order, l.Members)
		}
	}
	return len(order)
}

// TestRandomNodeWork checks the rule that decides whether pods leave a node, for
// random work: more work never needs less, a change of the minor version of the
// container runtime or the kubelet always needs it, and so does a node that an
// earlier run has left cordoned, because the end of that work uncordons it.
func TestRandomNodeWork(t *testing.T) {
	versions := []string{"v1.34.1", "v1.34.9", "v1.35.4", "v1.36.3"}
	drained, stayed := 0, 0
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 6))
		var work cluster.NodeWork
		must := false
		for _, component := range []string{"kubelet", "containerd", "runc", "kube-proxy"} {
			from, to := versions[r.IntN(4)], versions[r.IntN(4)]
			if from == to || r.IntN(3) > 0 {
				continue
			}
			work.Changes = append(work.Changes, cluster.VersionChange{Host: "n1", Component: component, From: from, To: to})
			minor := from[:5] != to[:5]
			must = must || minor && (component == "kubelet" || component == "containerd")
		}
		if r.IntN(8) == 0 {
			work.Cordoned, must = true, true
		}
		if r.IntN(8) == 0 {
			work.Policies = cluster.PolicyChanges(nil, map[string]any{"cpuManagerPolicy": "static"})
			must = true
		}
		reasons := work.Intrusive()
		if must && len(reasons) == 0 {
			t.Fatalf("seed %d: pods stay on the node: %+v", seed, work)
		}
		if work.HostPorts = []string{"a/b"}; len(work.Intrusive()) < len(reasons) {
			t.Fatalf("seed %d: with host ports there are fewer reasons: %+v", seed, work)
		}
		more := work
		more.Changes = append(slices.Clone(work.Changes), cluster.VersionChange{Host: "n1", Component: "kubelet", From: "v1.34.1", To: "v1.35.4"})
		for _, reason := range work.Intrusive() {
			if !slices.Contains(more.Intrusive(), reason) {
				t.Fatalf("seed %d: with one more change the reason %q is gone: %+v", seed, reason, work)
			}
		}
		if len(reasons) > 0 {
			drained++
		} else {
			stayed++
		}
	}
	if drained < 1000 || stayed < 1000 {
		t.Errorf("pods leave the node %d times and stay %d times", drained, stayed)
	}
}
