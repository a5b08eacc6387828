package decide

import (
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// members returns three members that serve.
func members() world.Etcd {
	e := world.Etcd{Known: true}
	for i, name := range []string{"m1", "m2", "m3"} {
		e.Members = append(e.Members, cluster.EtcdMemberState{Host: name, Member: name, ID: string(rune('a' + i)), Listed: true, Answers: true, Serves: true})
	}
	return e
}

func TestRejoin(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world.Own, *world.Etcd)
		lost   string
		acts   bool
		member string // that is removed
		finish bool
		block  string
	}{
		"it serves":    {change: func(*world.Own, *world.Etcd) {}},
		"only stopped": {change: func(_ *world.Own, e *world.Etcd) { down(e, 0) }},
		"no member":    {change: func(o *world.Own, e *world.Etcd) { down(e, 0); o.Member = nil }},
		"data gone":    {change: func(o *world.Own, e *world.Etcd) { down(e, 0); o.Member.Data = false }, lost: "its data is gone", acts: true, member: "a"},
		"removed":      {change: func(_ *world.Own, e *world.Etcd) { down(e, 0); e.Members[0].Listed, e.Members[0].ID = false, "" }, lost: "it was removed from the cluster", acts: true},
		"added, silent": {change: func(o *world.Own, e *world.Etcd) {
			down(e, 0)
			e.Members[0].Learner, o.Member.Served, o.Member.Data = true, false, false
		}, lost: "it was added, and does not vote yet", acts: true, member: "a"},
		"added, runs": {change: func(o *world.Own, e *world.Etcd) {
			e.Members[0].Serves, e.Members[0].Learner, o.Member.Served = false, true, false
		}, lost: "it was added, and does not vote yet", acts: true, finish: true},
		"never installed":     {change: func(o *world.Own, e *world.Etcd) { down(e, 0); e.Members[0].Listed, *o.Member = false, world.Member{} }},
		"nobody serves":       {change: func(o *world.Own, e *world.Etcd) { down(e, 0, 1, 2); o.Member.Data = false }},
		"another one is down": {change: func(o *world.Own, e *world.Etcd) { down(e, 0, 2); o.Member.Data = false }, lost: "its data is gone", block: "but etcd on m3 does not serve either"},
		"another one learns":  {change: func(o *world.Own, e *world.Etcd) { down(e, 0); o.Member.Data, e.Members[1].Learner = false, true }, lost: "its data is gone", block: "but etcd on m2 does not serve either"},
		"a stranger": {change: func(o *world.Own, e *world.Etcd) {
			down(e, 0)
			o.Member.Data = false
			e.Members = append(e.Members, cluster.EtcdMemberState{Member: "x", ID: "x", Listed: true, Answers: true, Serves: true})
		}, lost: "its data is gone", block: "etcd has a member x that no host"},
	} {
		own, w := world.Own{Member: &world.Member{Served: true, Data: true}}, world.World{Now: now, Etcd: members()}
		c.change(&own, &w.Etcd)
		why := Lost("m1", own, w.Etcd)
		if why != c.lost {
			t.Errorf("%s: lost %q, want %q", name, why, c.lost)
		}
		s := settings().Etcd
		if d := Rejoin(s, "m1", why, now.Add(-time.Hour), w); len(d.Actions) > 0 || (why != "") != (len(d.Blocked) == 1) {
			t.Errorf("%s: switched off, it decides %+v", name, d)
		}
		*s.Replace = true
		if d := Rejoin(s, "m1", why, now.Add(-9*time.Minute), w); len(d.Actions) > 0 {
			t.Errorf("%s: too early it decides %+v", name, d)
		}
		d := Rejoin(s, "m1", why, now.Add(-11*time.Minute), w)
		if (len(d.Actions) == 1) != c.acts || (c.block != "") != (len(d.Blocked) == 1) {
			t.Errorf("%s: %+v", name, d)
			continue
		}
		if c.acts && (d.Actions[0].Member != c.member || d.Actions[0].Finish != c.finish || d.Actions[0].Object.Name != "m1") {
			t.Errorf("%s: %+v", name, d.Actions[0])
		}
		if c.block != "" && !strings.Contains(d.Blocked[0].Why, c.block) {
			t.Errorf("%s: %+v, want %q", name, d.Blocked[0], c.block)
		}
	}
}

// down makes members silent.
func down(e *world.Etcd, which ...int) {
	for _, i := range which {
		e.Members[i].Answers, e.Members[i].Serves = false, false
	}
}
