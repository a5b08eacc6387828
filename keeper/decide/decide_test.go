package decide

import (
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

var now = time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)

func settings() cluster.KeeperSpec {
	s := cluster.KeeperSpec{}
	s.Purge.Enabled = true
	return s.WithDefaults()
}

// fleet returns three masters and three minions, all Ready and reached.
func fleet() world.World {
	w := world.World{Now: now, Etcd: members()}
	for _, name := range []string{"m1", "m2", "m3", "n1", "n2", "n3"} {
		w.Nodes = append(w.Nodes, world.Node{Name: name, UID: "uid-" + name, Master: name[0] == 'm', Etcd: name[0] == 'm', Ready: world.True, Since: now.Add(-24 * time.Hour), Reach: world.Answers})
	}
	return w
}

// dies makes a node silent for a time, and its member of etcd.
func dies(w *world.World, name string, ago time.Duration) *world.Node {
	if at := memberOf(name, w.Etcd); at >= 0 {
		down(&w.Etcd, at)
	}
	for i := range w.Nodes {
		if w.Nodes[i].Name == name {
			w.Nodes[i].Ready, w.Nodes[i].Since, w.Nodes[i].Reach = world.Unknown, now.Add(-ago), world.Silent
			return &w.Nodes[i]
		}
	}
	panic(name)
}

func ending(node string, ago time.Duration) world.Pod {
	return world.Pod{Namespace: "default", Name: "web-1", UID: "u1", Node: node, Deleted: now.Add(-ago)}
}

func TestClear(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world.World, *cluster.KeeperClearSpec)
		acts   bool
		why    string // of the block
	}{
		"gone and deleted":       {nil, true, ""},
		"off":                    {func(_ *world.World, s *cluster.KeeperClearSpec) { s.Enabled = new(bool) }, false, ""},
		"Unknown for less":       {func(w *world.World, _ *cluster.KeeperClearSpec) { dies(w, "n1", 4*time.Minute) }, false, ""},
		"NotReady":               {func(w *world.World, _ *cluster.KeeperClearSpec) { dies(w, "n1", time.Hour).Ready = world.False }, false, ""},
		"deleted just now":       {func(w *world.World, _ *cluster.KeeperClearSpec) { w.Ending[0].Deleted = now.Add(-29 * time.Second) }, false, ""},
		"not deleted":            {func(w *world.World, _ *cluster.KeeperClearSpec) { w.Ending[0].Deleted = time.Time{} }, false, ""},
		"the host answers":       {func(w *world.World, _ *cluster.KeeperClearSpec) { dies(w, "n1", time.Hour).Reach = world.Answers }, false, "its host answers, so its pods may run: look at the kubelet there"},
		"not tried":              {func(w *world.World, _ *cluster.KeeperClearSpec) { dies(w, "n1", time.Hour).Reach = world.NotTried }, false, "it is not known whether its host answers"},
		"a node that is no more": {func(w *world.World, _ *cluster.KeeperClearSpec) { w.Ending[0].Node = "n9" }, false, ""},
		"in maintenance": {func(w *world.World, _ *cluster.KeeperClearSpec) {
			dies(w, "n1", time.Hour).Maintenance = &world.Maintenance{Until: now.Add(time.Minute), By: "ann@desk"}
		}, false, "it is in maintenance until 2026-11-28T03:01:00Z (ann@desk)"},
		"maintenance has ended": {func(w *world.World, _ *cluster.KeeperClearSpec) {
			dies(w, "n1", time.Hour).Maintenance = &world.Maintenance{Until: now, By: "ann@desk"}
		}, true, ""},
		"etcd on the host answers": {func(w *world.World, _ *cluster.KeeperClearSpec) {
			dies(w, "m1", time.Hour)
			w.Ending[0].Node, w.Etcd = "m1", members()
		}, false, "its member of etcd answers, so its host lives: look at the kubelet there"},
		"cut off": {func(w *world.World, _ *cluster.KeeperClearSpec) {
			for _, n := range []string{"m2", "m3"} {
				dies(w, n, time.Minute)
			}
		}, false, "this host reaches 3 of 6 nodes, which is no majority, so it may be the one that is cut off"},
	} {
		w, s := fleet(), settings().Clear
		dies(&w, "n1", 6*time.Minute)
		w.Ending = []world.Pod{ending("n1", time.Minute)}
		if c.change != nil {
			c.change(&w, &s)
		}
		d := Clear(cluster.KeeperSpec{Clear: s}, w)
		if (len(d.Actions) == 1) != c.acts || len(d.Actions) > 1 {
			t.Errorf("%s: actions %v, want one: %t", name, d.Actions, c.acts)
		}
		why := ""
		if len(d.Blocked) > 0 {
			why = d.Blocked[0].Why
		}
		if why != c.why {
			t.Errorf("%s: blocked %q, want %q", name, why, c.why)
		}
	}
}

func TestPurge(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world.World, *cluster.KeeperPurgeSpec)
		purged string
		why    string
	}{
		"a minion":       {nil, "n1", ""},
		"off":            {func(_ *world.World, s *cluster.KeeperPurgeSpec) { s.Enabled = false }, "", ""},
		"not long":       {func(w *world.World, _ *cluster.KeeperPurgeSpec) { dies(w, "n1", 59*time.Minute) }, "", ""},
		"the host lives": {func(w *world.World, _ *cluster.KeeperPurgeSpec) { dies(w, "n1", 2*time.Hour).Reach = world.Answers }, "", "its host answers, so its pods may run: look at the kubelet there"},
		"of two the one that is gone longer": {func(w *world.World, _ *cluster.KeeperPurgeSpec) { dies(w, "n3", 3*time.Hour) }, "n3",
			"one node leaves at a time, and n3 leaves now"},
		"a master of three": {func(w *world.World, _ *cluster.KeeperPurgeSpec) { dies(w, "n1", 0); dies(w, "m1", 2*time.Hour) }, "m1", ""},
		"etcd on it answers": {func(w *world.World, _ *cluster.KeeperPurgeSpec) {
			dies(w, "n1", 0)
			dies(w, "m1", 2*time.Hour)
			w.Etcd = members()
		}, "", "its member of etcd answers, so its host lives: look at the kubelet there"},
		"another member is down": {func(w *world.World, _ *cluster.KeeperPurgeSpec) {
			dies(w, "n1", 0)
			dies(w, "m1", 2*time.Hour)
			down(&w.Etcd, 1)
		}, "", "etcd on m2 does not serve either, and one member leaves at a time"},
		"its member has left": {func(w *world.World, _ *cluster.KeeperPurgeSpec) {
			dies(w, "n1", 0)
			dies(w, "m1", 2*time.Hour)
			down(&w.Etcd, 1)
			w.Etcd.Members[0].Listed = false
		}, "m1", ""},
		"no other member serves": {func(w *world.World, _ *cluster.KeeperPurgeSpec) {
			dies(w, "n1", 0)
			dies(w, "m1", 2*time.Hour)
			w.Etcd.Members = w.Etcd.Members[:1]
		}, "", "no other member of etcd serves"},
		"etcd is not known": {func(w *world.World, _ *cluster.KeeperPurgeSpec) {
			dies(w, "n1", 0)
			dies(w, "m1", 2*time.Hour)
			w.Etcd = world.Etcd{}
		}, "", "the members of etcd are not known"},
		"too few masters": {func(w *world.World, _ *cluster.KeeperPurgeSpec) {
			dies(w, "m1", 0)
			dies(w, "m2", 0)
			w.Nodes = append(w.Nodes, fleet().Nodes[3:]...)
		}, "", "1 Ready master would be left, and cluster.keeper.purge.min_ready_masters is 2"},
		"too few minions":    {func(w *world.World, s *cluster.KeeperPurgeSpec) { s.MinReadyMinions = 3 }, "", "2 Ready minions would be left, and cluster.keeper.purge.min_ready_minions is 3"},
		"enough for minions": {func(w *world.World, s *cluster.KeeperPurgeSpec) { s.MinReadyMinions = 2 }, "n1", ""},
	} {
		w, s := fleet(), settings().Purge
		dies(&w, "n1", 2*time.Hour)
		if c.change != nil {
			c.change(&w, &s)
		}
		d := PurgeOf(cluster.KeeperSpec{Purge: s}, w)
		purged, why := "", ""
		if len(d.Actions) > 0 {
			purged = d.Actions[0].Object.Name
		}
		if len(d.Blocked) > 0 {
			why = d.Blocked[0].Why
		}
		if purged != c.purged || why != c.why || len(d.Actions) > 1 {
			t.Errorf("%s: purged %q, blocked %q; want %q, %q", name, purged, why, c.purged, c.why)
		}
	}
}

func TestStuck(t *testing.T) {
	stuck := []cluster.StuckContainerSpec{{Namespace: "default", Selector: "app=db", Container: "db", For: 5 * time.Minute}}
	for name, c := range map[string]struct {
		change func(*world.Pod)
		acts   bool
	}{
		"stuck":              {func(*world.Pod) {}, true},
		"for less":           {func(p *world.Pod) { p.ReadySince = now.Add(-4 * time.Minute) }, false},
		"ready":              {func(p *world.Pod) { p.Containers["db"] = true }, false},
		"another container":  {func(p *world.Pod) { delete(p.Containers, "db") }, false},
		"never was ready":    {func(p *world.Pod) { p.ReadySince = p.Started.Add(time.Second) }, false},
		"deleted already":    {func(p *world.Pod) { p.Deleted = now }, false},
		"not running":        {func(p *world.Pod) { p.Running = false }, false},
		"its node is silent": {func(p *world.Pod) { p.ContainersReady = world.Unknown }, false},
	} {
		p := world.Pod{Namespace: "default", Name: "db-0", UID: "u", Running: true, Started: now.Add(-time.Hour), ContainersReady: world.False, ReadySince: now.Add(-6 * time.Minute), Containers: map[string]bool{"db": false, "sidecar": true}}
		c.change(&p)
		if d := Stuck(stuck, world.World{Now: now, Watched: [][]world.Pod{{p}}}); (len(d.Actions) == 1) != c.acts {
			t.Errorf("%s: %v", name, d.Actions)
		}
	}
}

func TestScale(t *testing.T) {
	for name, c := range map[string]struct {
		policy   cluster.ScalePolicySpec
		ready    int
		replicas int
		want     int // 0: no action
	}{
		"grows":                     {cluster.ScalePolicySpec{ReadyNodes: 1, Min: 1, Max: 3}, 6, 1, 3},
		"as many as nodes":          {cluster.ScalePolicySpec{ReadyNodes: 1, Min: 1, Max: 3}, 2, 1, 2},
		"has them":                  {cluster.ScalePolicySpec{ReadyNodes: 1, Min: 1, Max: 3}, 6, 3, 0},
		"does not shrink":           {cluster.ScalePolicySpec{ReadyNodes: 1, Min: 1, Max: 3}, 2, 3, 0},
		"shrinks":                   {cluster.ScalePolicySpec{ReadyNodes: 1, Min: 1, Max: 3, Shrink: true}, 2, 3, 2},
		"too few nodes":             {cluster.ScalePolicySpec{ReadyNodes: 3, Min: 1, Max: 3}, 2, 1, 0},
		"no such field":             {cluster.ScalePolicySpec{ReadyNodes: 1, Min: 1, Max: 3}, 6, -1, 0},
		"a policy of a patch alone": {cluster.ScalePolicySpec{ReadyNodes: 1, Min: 1}, 6, 1, 0},
	} {
		w := fleet()
		for i := c.ready; i < len(w.Nodes); i++ {
			w.Nodes[i].Ready = world.False
		}
		w.Scaled = [][]world.Object{{{Kind: "StatefulSet", Namespace: "x", Name: "minio", Replicas: c.replicas, Patched: true}}}
		got := 0
		if d := ScaleOf([]cluster.ScalePolicySpec{c.policy}, w); len(d.Actions) > 0 {
			got = d.Actions[0].Replicas
		}
		if got != c.want {
			t.Errorf("%s: %d replicas, want %d", name, got, c.want)
		}
	}
}

func TestEtcdCare(t *testing.T) {
	member := func(host string, size, used int64, leader bool) cluster.EtcdMemberState {
		return cluster.EtcdMemberState{Host: host, Listed: true, Answers: true, Serves: true, Leader: leader, DBSize: size, DBInUse: used}
	}
	const mib = 1 << 20
	w := world.World{Now: now, Etcd: world.Etcd{Known: true, Members: []cluster.EtcdMemberState{member("m1", 200*mib, 50*mib, true), member("m2", 200*mib, 50*mib, false), member("m3", 90*mib, mib, false)}}}
	s := settings().Etcd
	if d := EtcdCare(s, w); len(d.Actions) != 1 || d.Actions[0].Kind != Defragment || d.Actions[0].Why != "much of the files holds no data on m2, m1" {
		t.Errorf("%v", d)
	}
	w.Etcd.Members[2].Serves = false
	if d := EtcdCare(s, w); len(d.Actions) != 0 {
		t.Errorf("a member is down, and the keeper does %v", d.Actions)
	}
	w.Etcd.NoSpace = true
	if d := EtcdCare(s, w); len(d.Actions) != 0 || len(d.Blocked) != 1 || !strings.HasPrefix(d.Blocked[0].Why, "etcd on m3 does not serve") {
		t.Errorf("a member is down: %+v", d)
	}
	w.Etcd.Members[2].Listed, w.Etcd.Members[2].Answers = false, false // its master has left the cluster
	if d := EtcdCare(s, w); len(d.Actions) != 1 || d.Actions[0].Kind != FreeSpace {
		t.Errorf("a member has left: %+v", d)
	}
	back := s
	*back.Replace = true
	if d := EtcdCare(back, w); len(d.Actions) != 0 {
		t.Errorf("a member may come back: %v", d.Actions)
	}
	*back.Replace = false
	w.Etcd.Members[2] = member("m3", 90*mib, mib, false)
	if d := EtcdCare(s, w); len(d.Actions) != 1 || d.Actions[0].Kind != FreeSpace {
		t.Errorf("%v", d)
	}
	s.FreeSpace = new(bool)
	if d := EtcdCare(s, w); len(d.Actions) != 0 || len(d.Blocked) != 1 {
		t.Errorf("%v", d)
	}
}

func TestRenew(t *testing.T) {
	w := fleet()
	mark := &world.Maintenance{Until: now.Add(time.Minute)}
	for i, c := range []struct {
		ready world.Readiness
		reach world.Reach
		mark  *world.Maintenance
	}{
		{world.True, world.Answers, mark},
		{world.Unknown, world.Answers, mark},
		{world.True, world.Silent, mark},
		{world.False, world.Answers, mark},
		{world.True, world.Answers, &world.Maintenance{Until: now}},
		{world.True, world.Answers, nil},
	} {
		w.Nodes[i].Ready, w.Nodes[i].Reach, w.Nodes[i].Maintenance = c.ready, c.reach, c.mark
	}
	got := Renew(w)
	if len(got) != 2 || got[0].Name != "m1" || got[1].Name != "m2" {
		t.Errorf("%v", got)
	}
}

func TestHistory(t *testing.T) {
	a := Action{Kind: ForceDelete, Object: Object{Kind: "Pod", Namespace: "d", Name: "p", UID: "1"}}
	other := a
	other.Object.UID = "2"
	h := History{a.Key(): now}
	if got := h.Fresh([]Action{a, other}, now.Add(time.Minute)); len(got) != 1 || got[0].Object.UID != "2" {
		t.Errorf("%v", got)
	}
	if got := h.Fresh([]Action{a}, now.Add(again)); len(got) != 1 {
		t.Error("an action without effect is not repeated")
	}
	h.Forget(now.Add(again))
	if len(h) != 0 {
		t.Error("the history grows for ever")
	}
}
