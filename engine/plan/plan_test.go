package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

func file(path, action string) engine.Effect {
	return engine.Effect{Kind: engine.EffectFile, Target: path, Action: action, Diff: "+" + action}
}

func of(kind engine.EffectKind, target string) engine.Effect {
	return engine.Effect{Kind: kind, Target: target, Action: "do"}
}

// did returns the event of a step that would change something; with a text among the
// effects, that of a step whose effects are unknown for this reason.
func did(host, step string, effects ...any) engine.Event {
	r := &engine.Result{Step: step, Name: "step " + step, Status: engine.StatusChanged, Change: &engine.Change{Needed: true}}
	for _, e := range effects {
		switch e := e.(type) {
		case engine.Effect:
			r.Change.Effects = append(r.Change.Effects, e)
		case string:
			r.Unknown, r.Status, r.Change = e, engine.StatusSkipped, nil
		}
	}
	return engine.Event{Type: engine.EventStepEnd, Host: host, Step: step, Result: r}
}

func idle(host, step string) engine.Event {
	return engine.Event{Type: engine.EventStepEnd, Host: host, Step: step, Result: &engine.Result{Step: step, Status: engine.StatusOK}}
}

// made returns a plan of the events of a dry run.
func made(events ...engine.Event) *Plan {
	c := NewCollector()
	var order []string
	for _, e := range events {
		c.Emit(e)
		if len(order) == 0 || order[len(order)-1] != e.Host {
			order = append(order, e.Host)
		}
	}
	return c.Plan(order)
}

func TestCollect(t *testing.T) {
	c := NewCollector()
	for _, e := range []engine.Event{
		did("n1", "1", file("/a", "replace")), did("n2", "1", file("/a", "replace")), did("n3", "1", file("/a", "create")),
		idle("n1", "2"), did("n2", "2", "needs x"), did("n4", "1", file("/a", "replace")),
		{Type: engine.EventStepEnd, Host: "n1", Step: "3", Result: &engine.Result{Step: "3", Status: engine.StatusOK, Change: &engine.Change{Needed: true, Wait: true}}},
		{Type: engine.EventStepEnd, Host: "n1", Step: "4", Result: &engine.Result{Step: "4", Status: engine.StatusFailed, Failure: &engine.Failure{Message: "no"}, Change: &engine.Change{Needed: true}}},
		{Type: engine.EventRunEnd, Report: &engine.Report{Hosts: []engine.HostReport{{Host: "n1"}, {Host: "n2"}, {Host: "n3"},
			{Host: "n4", Failure: &engine.Failure{Message: "broken"}}, {Host: "n5", Cancelled: true}, {Host: "n6"}}}},
	} {
		c.Emit(e)
	}
	p := c.Plan(nil)
	if len(p.Changes) != 3 {
		t.Errorf("%d distinct changes, want 3: %+v", len(p.Changes), p.Changes)
	}
	got := map[string]string{}
	for _, h := range p.Hosts {
		got[h.Name] = fmt.Sprint(h.Changes)
	}
	if diff := cmp.Diff(map[string]string{"n1": "[0]", "n2": "[0 2]", "n3": "[1]", "n6": "[]"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"n4": "broken", "n5": "stopped because of other hosts"}, p.LeftOut); diff != "" {
		t.Error(diff)
	}
}

// TestEnforcer: Expected returns the effects that each step may have when a plan is applied.
func TestEnforcer(t *testing.T) {
	conf, link := file("/etc/a.conf", "replace"), file("/etc/a.conf", "set mode")
	secret := conf
	secret.Redacted = true
	strict := func(e engine.Effect) *engine.Expect { return &engine.Expect{Effects: []string{e.Fingerprint()}} }
	loose := func(e engine.Effect) *engine.Expect { return &engine.Expect{Targets: []string{e.KindAndTarget()}} }
	nothing, anything := &engine.Expect{}, (*engine.Expect)(nil)
	for name, c := range map[string]struct {
		events []engine.Event
		want   []*engine.Expect // of the steps 1, 2, ...
	}{
		"independent steps":                  {[]engine.Event{did("n1", "1", conf), idle("n1", "2")}, []*engine.Expect{strict(conf), nothing}},
		"the same file twice":                {[]engine.Event{did("n1", "1", conf), did("n1", "2", link)}, []*engine.Expect{strict(conf), loose(link)}},
		"in a new directory":                 {[]engine.Event{did("n1", "1", file("/etc", "create")), did("n1", "2", conf)}, []*engine.Expect{strict(file("/etc", "create")), strict(conf)}},
		"in a directory that was removed":    {[]engine.Event{did("n1", "1", file("/etc", "remove")), did("n1", "2", conf)}, []*engine.Expect{strict(file("/etc", "remove")), loose(conf)}},
		"a unit and its file":                {[]engine.Event{did("n1", "1", file("/etc/systemd/system/a.service.d/x.conf", "create")), did("n1", "2", of(engine.EffectRestart, "a.service"))}, []*engine.Expect{strict(file("/etc/systemd/system/a.service.d/x.conf", "create")), loose(of(engine.EffectRestart, "a.service"))}},
		"in a directory with a similar name": {[]engine.Event{did("n1", "1", file("/et", "create")), did("n1", "2", conf)}, []*engine.Expect{strict(file("/et", "create")), strict(conf)}},
		"after a restart":                    {[]engine.Event{did("n1", "1", of(engine.EffectRestart, "a.service")), did("n1", "2", conf), idle("n1", "3")}, []*engine.Expect{strict(of(engine.EffectRestart, "a.service")), strict(conf), nothing}},
		"after a package":                    {[]engine.Event{idle("n1", "1"), did("n1", "2", of(engine.EffectPackage, "a")), did("n1", "3", conf), idle("n1", "4")}, []*engine.Expect{nothing, strict(of(engine.EffectPackage, "a")), loose(conf), anything}},
		"unknown step":                       {[]engine.Event{did("n1", "1", "needs x"), did("n1", "2", conf), idle("n1", "3")}, []*engine.Expect{anything, loose(conf), anything}},
		"effect with a secret":               {[]engine.Event{did("n1", "1", secret)}, []*engine.Expect{loose(conf)}},
		"a host that is not in the plan":     {[]engine.Event{did("n2", "1", conf)}, []*engine.Expect{nothing}},
		"change without effects":             {[]engine.Event{did("n1", "1")}, []*engine.Expect{strict(engine.Effect{})}},
	} {
		e := NewEnforcer(made(c.events...))
		for i, want := range c.want {
			if diff := cmp.Diff(want, e.Expected("n1", fmt.Sprint(i+1))); diff != "" {
				t.Errorf("%s, step %d: %s", name, i+1, diff)
			}
		}
	}
}

func TestHostDrift(t *testing.T) {
	conf := file("/etc/a.conf", "replace")
	other := conf
	other.Diff = "+something else"
	was := made(did("n1", "1", conf), did("n2", "1", conf), did("n3", "1", "needs x"), did("n4", "1", conf), idle("n5", "1"))
	if drift := HostDrift(was, was); len(drift) > 0 {
		t.Errorf("a plan differs from itself: %v", drift)
	}
	now := made(did("n1", "1", conf), did("n2", "1", other), did("n3", "1", conf), did("n3", "2", conf), idle("n4", "1"), idle("n6", "1"))
	now.LeftOut = map[string]string{"n5": "unreachable"}
	got := map[string][]string{}
	for _, d := range HostDrift(was, now) {
		got[d.Subject] = append(got[d.Subject], d.Difference)
	}
	for host, want := range map[string][]string{
		"n2": {`"step 1" would now: replace /etc/a.conf (diff `},
		"n3": {`"step 1" would now: replace /etc/a.conf (diff `, `"step 2" would now: replace /etc/a.conf (diff `},
		"n4": {`"step 1" has nothing to change now; planned: replace /etc/a.conf`},
		"n5": {"unreachable"},
		"n6": {"was not in the plan"},
	} {
		if len(got[host]) != len(want) {
			t.Errorf("%s: %q, want %q", host, got[host], want)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(got[host][i], want[i]) {
				t.Errorf("%s: %q, want %q", host, got[host][i], want[i])
			}
		}
	}
	if len(got) != 5 {
		t.Errorf("%v", got)
	}
}

func TestFileDrift(t *testing.T) {
	p := &Plan{Files: map[string]string{"/a": "1", "/b": "2", "/c": "3", "/e": "5"}}
	want := []Drift{{"/b", "has changed"}, {"/c", "is no longer used"}, {"/e", "is missing"}, {"/d", "was not used for the plan"}}
	if diff := cmp.Diff(want, FileDrift(p, map[string]string{"/a": "1", "/b": "x", "/d": "4", "/e": ""}, true)); diff != "" {
		t.Error(diff)
	}
	if drift := FileDrift(p, map[string]string{"/a": "1"}, false); len(drift) > 0 {
		t.Errorf("not all are read yet: %v", drift)
	}
}

// TestFold: hosts with the same changes are one group, whatever the number.
func TestFold(t *testing.T) {
	var events []engine.Event
	for i := range 1000 {
		host := fmt.Sprintf("n%04d", i)
		switch i {
		case 500:
			events = append(events, did(host, "1", file("/a", "create")))
		case 501:
			events = append(events, idle(host, "1"))
		default:
			events = append(events, did(host, "1", file("/a", "replace"), file("/b", "create")), did(host, "2", of(engine.EffectRestart, "a")))
		}
	}
	p := made(events...)
	groups := p.Fold(true)
	if len(groups) != 2 || len(groups[0].Hosts) != 998 || len(groups[1].Hosts) != 1 || groups[1].Hosts[0] != "n0500" {
		t.Fatalf("%d groups", len(groups))
	}
	if got := p.Count(groups[0].Changes); got != "2 files, 1 restart" {
		t.Error(got)
	}
}

// TestFoldsOwnContents: hosts whose changes differ only in contents or in the host's
// own name are one group, which lists these changes.
func TestFoldsOwnContents(t *testing.T) {
	var events []engine.Event
	for i := range 1000 {
		host := fmt.Sprintf("n%04d", i)
		index := file("/index", "create")
		index.Diff = "+" + host
		e := did(host, "1", index)
		if i == 7 {
			e = did(host, "1", file("/index", "replace"))
		}
		events = append(events, e, did(host, "2", file("/same", "create")), did(host, "3", of(engine.EffectKernel, "name of "+host)))
	}
	p := made(events...)
	groups := p.Fold(false)
	if len(groups) != 2 || len(groups[0].Hosts) != 999 || groups[1].Hosts[0] != "n0007" || len(groups[1].Own) > 0 {
		t.Fatalf("%d groups: %+v", len(groups), groups[1:])
	}
	var own []string
	for _, at := range groups[0].Changes {
		if groups[0].Own[at] {
			own = append(own, p.Changes[at].Step)
		}
	}
	if diff := cmp.Diff([]string{"1", "3"}, own); diff != "" {
		t.Error(diff)
	}
	if apart := p.Fold(true); len(apart) != 1000 {
		t.Errorf("%d groups apart", len(apart))
	}
}

func TestLimitedSteps(t *testing.T) {
	var events []engine.Event
	for i := range 11 {
		one, two := did(fmt.Sprintf("n%02d", i), "1", file("/a", fmt.Sprint(i))), did(fmt.Sprintf("n%02d", i), "2", of(engine.EffectRestart, "a"))
		one.Result.MaxParallel, two.Result.MaxParallel = 5, 5
		events = append(events, one, two, did(one.Host, "3", file("/b", "create")))
	}
	want := []LimitedSteps{{Steps: []string{"step 1", "step 2"}, MaxParallel: 5, Turns: 3}}
	if diff := cmp.Diff(want, made(events...).LimitedSteps()); diff != "" {
		t.Error(diff)
	}
}

// TestDrains: drains of nodes are one change with the pods of all nodes, and a
// different set of pods is no drift.
func TestDrains(t *testing.T) {
	drain := func(pods string) engine.Effect {
		return engine.Effect{Kind: engine.EffectDrain, Target: "the node", Action: "cordon and drain", Diff: pods}
	}
	object := of(engine.EffectObject, "the node")
	was := made(did("n1", "1", drain("-n1: a\n-n1: b\n")), did("n1", "2", object), did("n2", "1", drain("-n2: c\n")), did("n2", "2", object))
	if len(was.Changes) != 2 || was.Changes[0].Effects[0].Diff != "-n1: a\n-n1: b\n-n2: c\n" {
		t.Errorf("%+v", was.Changes)
	}
	if got := was.Count([]int{0, 1}); got != "1 drain, 1 object" {
		t.Error(got)
	}
	if len(was.Fold(false)) != 1 || was.Hosts[0].UnboundedFrom == nil || *was.Hosts[0].UnboundedFrom != 1 {
		t.Errorf("a drain changes nothing on its host: %+v", was.Hosts)
	}
	now := made(did("n1", "1", drain("")), did("n1", "2", object), did("n2", "1", drain("-n2: x\n-n2: y\n")), did("n2", "2", object))
	if drift := HostDrift(was, now); len(drift) > 0 {
		t.Errorf("%+v", drift)
	}
}
