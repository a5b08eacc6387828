package cluster_test

import (
	"strings"
	"testing"

	"deployer/cluster"
)

func probe(name string, with ...func(*cluster.EtcdProbe)) cluster.EtcdProbe {
	p := cluster.EtcdProbe{Name: name, PeerURL: "https://" + name + ":2380", Reachable: true}
	for _, f := range with {
		f(&p)
	}
	return p
}

func data(p *cluster.EtcdProbe)        { p.HasData = true }
func unreachable(p *cluster.EtcdProbe) { p.Reachable = false }
func unchanged(p *cluster.EtcdProbe)   { p.Unchanged = true }
func established(p *cluster.EtcdProbe) { p.Established = true }
func at(address string) func(*cluster.EtcdProbe) {
	return func(p *cluster.EtcdProbe) { p.PeerURL = "https://" + address + ":2380" }
}
func listed(address string) func(*cluster.EtcdProbe) {
	return func(p *cluster.EtcdProbe) { p.ListedPeerURL = "https://" + address + ":2380" }
}
func of(id uint64) func(*cluster.EtcdProbe) {
	return func(p *cluster.EtcdProbe) { p.HasData, p.ClusterID = true, id }
}

func voter(id uint64, name string) cluster.LiveMember {
	return cluster.LiveMember{ID: id, Name: name, PeerURLs: []string{"https://" + name + ":2380"}, Started: true, Healthy: true}
}

func dead(m cluster.LiveMember) cluster.LiveMember { m.Healthy = false; return m }

func unstarted(m cluster.LiveMember) cluster.LiveMember {
	m.Started, m.Healthy = false, false
	return m
}

func learner(m cluster.LiveMember) cluster.LiveMember { m.Learner = true; return m }

func live(members ...cluster.LiveMember) *cluster.EtcdLive {
	return &cluster.EtcdLive{ClusterID: 7, Members: members}
}

func TestPlanEtcd(t *testing.T) {
	cases := []struct {
		name   string
		probes []cluster.EtcdProbe
		live   *cluster.EtcdLive
		want   string // actions in order of probes
		reason string // part of some reason
		order  string
	}{
		{name: "bare hosts", probes: []cluster.EtcdProbe{probe("a"), probe("b"), probe("c")}, want: "bootstrap bootstrap bootstrap"},
		{name: "killed when one had started", probes: []cluster.EtcdProbe{probe("a", data), probe("b"), probe("c")}, want: "bootstrap bootstrap bootstrap"},
		{name: "killed when two had started", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data), probe("c")},
			live: live(voter(1, "a"), voter(2, "b"), unstarted(voter(3, "c"))), want: "member member start", order: "c"},
		{name: "second run", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data), probe("c", data)},
			live: live(voter(1, "a"), voter(2, "b"), voter(3, "c")), want: "member member member"},
		{name: "power came back", probes: []cluster.EtcdProbe{probe("a", data, established), probe("b", data), probe("c", data)}, want: "member member member"},
		{name: "power came back, one disk did not", probes: []cluster.EtcdProbe{probe("a", data, established), probe("b", data), probe("c")},
			want: "member member refuse", reason: "run again"},
		{name: "majority lost its data", probes: []cluster.EtcdProbe{probe("a", data, established), probe("b"), probe("c")},
			want: "member refuse refuse", reason: "restore a backup"},
		{name: "another data directory", probes: []cluster.EtcdProbe{probe("a", established), probe("b"), probe("c")},
			want: "refuse refuse refuse", reason: "check cluster.etcd.data_dir"},
		{name: "one is unreachable before the first start", probes: []cluster.EtcdProbe{probe("a"), probe("b", unreachable), probe("c")},
			want: "refuse refuse refuse", reason: "b cannot be reached"},
		{name: "two clusters", probes: []cluster.EtcdProbe{probe("a", of(1)), probe("b", of(2)), probe("c")},
			want: "refuse refuse refuse", reason: "two different clusters"},
		{name: "a host is added", probes: []cluster.EtcdProbe{probe("a", data), probe("b")},
			live: live(voter(1, "a")), want: "member join", order: "b"},
		{name: "a host is added beside one that is away", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data), probe("c", data, unreachable), probe("d")},
			live: live(voter(1, "a"), voter(2, "b"), dead(voter(3, "c"))), want: "member member refuse refuse", reason: "is not a member yet, but member c does not serve"},
		{name: "a host is added while one is started", probes: []cluster.EtcdProbe{probe("d"), probe("a", data), probe("b", data), probe("c", data)},
			live: live(voter(1, "a"), voter(2, "b"), dead(voter(3, "c"))), want: "join member member member", order: "d"},
		{name: "a host is added, and a lost disk is replaced before", probes: []cluster.EtcdProbe{probe("d"), probe("a", data), probe("b", data), probe("c")},
			live: live(voter(1, "a"), voter(2, "b"), dead(voter(3, "c"))), want: "join member member replace", order: "c d"},
		{name: "a host is added by a run that does not start the one that is down", probes: []cluster.EtcdProbe{probe("d"), probe("a", data), probe("b", data), probe("c", data, unchanged)},
			live: live(voter(1, "a"), voter(2, "b"), dead(voter(3, "c"))), want: "refuse member member member", reason: "deployer etcd replace c"},
		{name: "two hosts are added", probes: []cluster.EtcdProbe{probe("c"), probe("a", data), probe("b")},
			live: live(voter(1, "a")), want: "join member join", order: "c b"},
		{name: "a disk was lost", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data), probe("c")},
			live: live(voter(1, "a"), voter(2, "b"), dead(voter(3, "c"))), want: "member member replace", order: "c"},
		{name: "two disks of five were lost", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data), probe("c", data), probe("d"), probe("e")},
			live: live(voter(1, "a"), voter(2, "b"), voter(3, "c"), dead(voter(4, "d")), dead(voter(5, "e"))),
			want: "member member member replace replace", order: "d e"},
		{name: "killed between add and start", probes: []cluster.EtcdProbe{probe("a", data), probe("b"), probe("c")},
			live: live(voter(1, "a"), cluster.LiveMember{ID: 2, PeerURLs: []string{"https://b:2380"}, Learner: true}),
			want: "member start refuse", reason: "one change at a time", order: "b"},
		{name: "killed before the promotion", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data)},
			live: live(voter(1, "a"), learner(voter(2, "b"))), want: "member member", order: "b"},
		{name: "data of another cluster", probes: []cluster.EtcdProbe{probe("a", data), probe("b", of(9))},
			live: live(voter(1, "a")), want: "member refuse", reason: "another cluster"},
		{name: "data of a removed member", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data)},
			live: live(voter(1, "a")), want: "member refuse", reason: "does not count it"},
		{name: "a member is away", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data), probe("c", unreachable)},
			live: live(voter(1, "a"), voter(2, "b"), dead(voter(3, "c"))), want: "member member refuse", reason: "stays a member"},
		{name: "an address changed", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data, at("b2")), probe("c", data)},
			live: live(voter(1, "a"), dead(voter(2, "b")), voter(3, "c")), want: "member readdress member", reason: "https://b:2380", order: "b"},
		{name: "two addresses of five changed", probes: []cluster.EtcdProbe{probe("a", data, at("a2")), probe("b", data, at("b2")), probe("c", data), probe("d", data), probe("e", data)},
			live: live(dead(voter(1, "a")), dead(voter(2, "b")), voter(3, "c"), voter(4, "d"), voter(5, "e")),
			want: "readdress readdress member member member", order: "a b"},
		{name: "an address changed, and its data is lost", probes: []cluster.EtcdProbe{probe("a", data), probe("b", at("b2")), probe("c", data)},
			live: live(voter(1, "a"), dead(voter(2, "b")), voter(3, "c")), want: "member replace member", order: "b"},
		{name: "the address of another member", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data, at("c")), probe("c", data, unreachable)},
			live: live(voter(1, "a"), voter(2, "b"), dead(voter(3, "c"))), want: "member refuse refuse", reason: "member c has the peer URL"},
		{name: "an address changed beside a member that is down", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data, at("b2")), probe("c", data, unreachable)},
			live: live(voter(1, "a"), voter(2, "b"), dead(voter(3, "c"))), want: "member refuse refuse", reason: "member c does not serve"},
		{name: "the only address changed", probes: []cluster.EtcdProbe{probe("a", data, established, at("a2"), listed("a"))}, want: "member"},
		{name: "one address changed while all are down", probes: []cluster.EtcdProbe{probe("a", data, established, listed("a")), probe("b", data, at("b2"), listed("b")), probe("c", data, listed("c"))},
			want: "member refuse member", reason: "run again when the others serve"},
		{name: "two of three addresses changed", probes: []cluster.EtcdProbe{probe("a", data, established, listed("a")), probe("b", data, at("b2"), listed("b")), probe("c", data, at("c2"), listed("c"))},
			want: "refuse refuse refuse", reason: "b, c have other addresses"},
		{name: "all addresses changed", probes: []cluster.EtcdProbe{probe("a", data, established, at("a2"), listed("a")), probe("b", data, at("b2"), listed("b")), probe("c", data, at("c2"), listed("c"))},
			want: "refuse refuse refuse", reason: "deployer etcd readdress"},
		{name: "data directory was changed", probes: []cluster.EtcdProbe{probe("a", data), probe("b", data), probe("c")},
			live: live(voter(1, "a"), voter(2, "b"), voter(3, "c")), want: "member member refuse", reason: "data_dir"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			plan := cluster.PlanEtcd(tc.probes, tc.live)
			var actions, reasons []string
			for _, p := range tc.probes {
				actions = append(actions, plan.Hosts[p.Name].Action)
				reasons = append(reasons, plan.Hosts[p.Name].Reason)
			}
			if got := strings.Join(actions, " "); got != tc.want {
				t.Errorf("actions are %q, want %q (%q)", got, tc.want, reasons)
			}
			if all := strings.Join(reasons, "\n"); !strings.Contains(all, tc.reason) {
				t.Errorf("no reason says %q:\n%s", tc.reason, all)
			}
			if got := strings.Join(plan.Order, " "); got != tc.order {
				t.Errorf("order is %q, want %q", got, tc.order)
			}
		})
	}
}

func TestEtcdMayAdd(t *testing.T) {
	a, b, c, d := voter(1, "a"), voter(2, "b"), voter(3, "c"), voter(4, "d")
	cases := []struct {
		name  string
		live  *cluster.EtcdLive
		wrong string // part of the error; empty when it is allowed
	}{
		{"one grows to two", live(a), ""},
		{"three grow to four", live(a, b, c), ""},
		{"two of three", live(a, b, dead(c)), "member c does not serve, and a member is added only while all members serve: start it with deployer install, replace it with deployer etcd replace c, or remove it with deployer scale-down --dead c"},
		{"three of five", live(a, b, c, dead(d), dead(voter(5, "e"))), "members d, e do not serve"},
		{"one of two", live(a, dead(b)), "member b does not serve"},
		{"a learner is on its way", live(a, b, learner(c)), "member c is still joining"},
		{"a member has not started", live(a, b, unstarted(c)), "member c is still joining"},
	}
	for _, tc := range cases {
		if err := cluster.EtcdMayAdd(tc.live); (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.wrong)
		}
	}
}

func TestEtcdMayReplace(t *testing.T) {
	a, b, c, d := voter(1, "a"), voter(2, "b"), voter(3, "c"), voter(4, "d")
	cases := []struct {
		name   string
		live   *cluster.EtcdLive
		remove uint64
		ok     bool
	}{
		{"two of three, third replaced", live(a, b, dead(c)), 3, true},
		{"three of four, fourth replaced", live(a, b, c, dead(d)), 4, true},
		{"three of five, one replaced", live(a, b, c, dead(d), dead(voter(5, "e"))), 4, true},
		{"the lost one of five is removed, another is down", live(a, b, c, dead(voter(5, "e"))), 0, true},
		{"one of two", live(a, dead(b)), 0, false},
		{"remove a healthy one", live(a, b, c), 3, false},
		{"a learner is on its way", live(a, b, learner(c)), 0, false},
		{"a dead learner is replaced", live(a, b, learner(dead(c))), 3, true},
	}
	for _, tc := range cases {
		if err := cluster.EtcdMayReplace(tc.live, tc.remove); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestEtcdMayReaddress(t *testing.T) {
	a, b, c, d := voter(1, "a"), voter(2, "b"), voter(3, "c"), voter(4, "d")
	for _, tc := range []struct {
		name string
		live *cluster.EtcdLive
		ok   bool
	}{
		{"one that is down", live(a, dead(b), c), true},
		{"one that serves", live(a, b, c), true},
		{"one that serves, beside one that is down", live(a, b, dead(c), d), false},
		{"one that is down, beside another", live(a, dead(b), c, dead(d), voter(5, "e")), true},
		{"the only one", live(b), true},
		{"no majority", live(a, dead(b)), false},
		{"a member is joining", live(a, dead(b), c, learner(d)), false},
		{"a member has not started", live(a, dead(b), c, unstarted(d)), false},
		{"a learner", live(a, learner(dead(b)), c), true},
		{"another has the URL", live(a, dead(b), voter(9, "new")), false},
	} {
		if err := cluster.EtcdMayReaddress(tc.live, 2, "https://new:2380"); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestEtcdMayPromote(t *testing.T) {
	a, b, c := voter(1, "a"), voter(2, "b"), voter(3, "c")
	if err := cluster.EtcdMayPromote(live(a, b, learner(c)), 3); err != nil {
		t.Errorf("a healthy learner: %v", err)
	}
	if err := cluster.EtcdMayPromote(live(a, b, learner(dead(c))), 3); err == nil {
		t.Error("a learner that does not serve was promoted")
	}
	if err := cluster.EtcdMayPromote(live(a, dead(b), dead(c), learner(voter(4, "d"))), 4); err == nil {
		t.Error("promoted although two of four would be a majority")
	}
}

func TestInitialClusterNamesUnstartedMember(t *testing.T) {
	l := live(voter(1, "a"), cluster.LiveMember{ID: 2, PeerURLs: []string{"https://b:2380"}})
	want := "a=https://a:2380,b=https://b:2380"
	if got := l.InitialCluster(probe("b")); got != want {
		t.Errorf("initial cluster is %s, want %s", got, want)
	}
	if got := live(voter(1, "a")).InitialCluster(probe("b")); got != want {
		t.Errorf("initial cluster of a joining host is %s, want %s", got, want)
	}
}
