package profile

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// two has two profiles, a and b, that go round by labels.
const two = `
intervals: {requeue: 30s}
instances:
  check:
  - {type: hasLabel, name: a_wanted, config: {key: a}}
  - {type: hasLabel, name: b_wanted, config: {key: b}}
  - {type: maxMaintenance, name: count, config: {max: 2}}
  - {type: stagger, name: turn, config: {duration: 5m, leaseName: turn, leaseNamespace: ns}}
  - {type: prometheusInstant, name: calm, config: {url: "http://p", query: alerts, expr: value < 1}}
  trigger:
  - {type: alterLabel, name: mark, config: {key: mark}}
  - {type: alterLabel, name: other, config: {key: other}}
  notify:
  - {type: slack, name: tell, config: {hook: "https://x", channel: c, message: m}, schedule: {type: periodic, config: {interval: 1h}}}
profiles:
- name: a
  operational: {transitions: [{check: a_wanted && !calm, next: maintenance-required}, {check: a_wanted, next: maintenance-required, trigger: other}]}
  maintenance-required: {transitions: [{check: "!a_wanted", next: operational}, {check: count && turn, trigger: mark, next: in-maintenance}]}
  in-maintenance: {enter: other, notify: tell, transitions: [{check: "!a_wanted", next: operational}]}
- name: b
  operational: {transitions: [{check: b_wanted, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: count && turn, next: in-maintenance}]}
  in-maintenance: {notify: tell, transitions: [{check: "!b_wanted", next: operational}]}
`

// in returns a node of profiles a and b with their states.
func in(a, b State, labels ...string) (*corev1.Node, Data) {
	n := member("n1", Operational, append([]string{ProfileLabel, "a--b"}, labels...)...)
	long := saturday.Add(-time.Hour)
	return n, Data{Profiles: map[string]*Progress{"a": {long, a, a}, "b": {long, b, b}}, Notifications: map[string]time.Time{}}
}

func world(nodes ...*corev1.Node) *World {
	return &World{Now: saturday, Nodes: nodes, Busy: map[string]string{}, Facts: &answers{}}
}

func TestFirstTransitionThatPassesIsMadeWithItsOwnTriggers(t *testing.T) {
	c := load(t, two)
	node, data := in(Operational, Operational, "a", "")
	d := Decide(c, node, data, world(node))
	if p := d.Profiles[0]; d.Err != nil || p.Next != Required || len(p.Do) != 1 || p.Do[0].Name != "other" || len(p.Looks) != 2 || p.Looks[0].Passed {
		t.Errorf("%+v", d)
	}
	if d.Profiles[1].Next != Operational {
		t.Errorf("%+v", d.Profiles[1])
	}
	if why := d.Profiles[0].Looks[0].Why(); why != `a_wanted: label a is ""; calm: value is 0, wanted value < 1` {
		t.Errorf("why: %s", why)
	}
}

func TestOneProfileOfANodeIsInMaintenance(t *testing.T) {
	c := load(t, two)
	for name, states := range map[string][2]State{"both want it": {Required, Required}, "one is": {Required, InMaintenance}} {
		node, data := in(states[0], states[1], "a", "", "b", "")
		d := Decide(c, node, data, world(node))
		n := 0
		for _, p := range d.Profiles {
			if p.Next == InMaintenance {
				n++
			}
		}
		if d.Err != nil || n != 1 {
			t.Errorf("%s: %+v", name, d.Profiles)
		}
	}
	node, data := in(Required, InMaintenance, "a", "", "b", "")
	d := Decide(c, node, data, world(node))
	if why := d.Profiles[0].Looks[1].Why(); why != "the node is in maintenance for profile b" {
		t.Errorf("why: %s", why)
	}
}

func TestProfileThatTheFileLacksBlocksWhileInMaintenance(t *testing.T) {
	c := load(t, two)
	node, data := in(Required, Operational, "a", "")
	node.Labels[ProfileLabel] = "a--gone"
	delete(data.Profiles, "b")
	if d := Decide(c, node, data, world(node)); d.Data.Profiles["gone"] != nil {
		t.Errorf("the profile got a state: %s", d.Data)
	}
	data.Profiles["gone"] = &Progress{saturday, InMaintenance, InMaintenance}
	d := Decide(c, node, data, world(node))
	if !slices.Equal(d.Unknown, []string{"gone"}) || d.Data.Profiles["gone"].Current != InMaintenance || d.Profiles[0].Next != Required || len(d.Profiles) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestProfilesThatTheNodeLosesAndGains(t *testing.T) {
	c := load(t, two)
	node, data := in(InMaintenance, Operational)
	node.Labels[ProfileLabel] = "b"
	d := Decide(c, node, data, world(node))
	if d.Data.Profiles["a"] != nil || len(d.Profiles) != 1 || d.Err != nil || data.Profiles["a"] == nil {
		t.Errorf("%+v", d)
	}
	delete(node.Labels, ProfileLabel)
	d = Decide(c, node, Data{}, world(node))
	if p := d.Data.Profiles[DefaultProfile]; p == nil || *p != (Progress{saturday, Operational, Operational}) {
		t.Errorf("%+v", d.Data)
	}
}

func TestErrorOfAnyCheckKeepsAllStates(t *testing.T) {
	c := load(t, two)
	node, data := in(Operational, Operational, "a", "", "b", "")
	w := world(node)
	w.Facts = &answers{err: errors.New("no answer")}
	d := Decide(c, node, data, w)
	if d.Err == nil || d.Err.Error() != "profile a: check calm: no answer" {
		t.Errorf("got %v", d.Err)
	}
	for _, p := range d.Profiles {
		if p.Next != p.State || p.Do != nil || p.Take != nil || p.Notify != nil {
			t.Errorf("%+v", p)
		}
	}
}

func TestEnterComesBeforeTransitions(t *testing.T) {
	c := load(t, two)
	node, data := in(InMaintenance, Operational) // a is not wanted any more
	data.Profiles["a"].Previous = Required
	d := Decide(c, node, data, world(node))
	if p := d.Profiles[0]; len(p.Enter) != 1 || p.Enter[0].Name != "other" || p.Next != InMaintenance || len(p.Notify) != 1 {
		t.Errorf("%+v", p)
	}
	data.Profiles["a"].Previous = InMaintenance
	d = Decide(c, node, data, world(node))
	if p := d.Profiles[0]; p.Enter != nil || p.Next != Operational {
		t.Errorf("%+v", p)
	}
}

func TestTriggersInProgressHoldUpTheOtherProfile(t *testing.T) {
	c := load(t, two)
	node, data := in(Required, Required, "a", "", "b", "")
	w := world(node)
	w.Busy["n1"] = "b"
	d := Decide(c, node, data, w)
	if d.Profiles[0].Next != Required || d.Profiles[1].Next != InMaintenance {
		t.Errorf("%+v", d.Profiles)
	}
}

func TestMessageOfADecision(t *testing.T) {
	c := load(t, two)
	node, data := in(InMaintenance, Operational, "a", "")
	data.Profiles["b"].Transition = saturday
	d := Decide(c, node, data, world(node))
	m := d.Message(node, "a")
	if m.State != InMaintenance || m.Profile != (Names{"a", "b"}) || !m.InMaintenance || !m.LastTransition.Equal(saturday.Add(-time.Hour)) {
		t.Errorf("%+v", m)
	}
	if text := d.Data.Serious([]string{"a", "b"}); text != InMaintenance {
		t.Errorf("most serious state: %s", text)
	}
	if !strings.Contains(d.Data.String(), `"Current":"in-maintenance"`) {
		t.Error(d.Data)
	}
}

func TestSecondTransitionThatPassesIsNotMade(t *testing.T) {
	c := load(t, two)
	node, data := in(Operational, Operational, "a", "")
	w := world(node)
	w.Facts = &answers{value: 1} // both transitions of profile a pass, and only the second has a trigger
	d := Decide(c, node, data, w)
	if p := d.Profiles[0]; d.Err != nil || p.Next != Required || len(p.Do) != 0 || !p.Looks[1].Passed {
		t.Errorf("%+v", p)
	}
}

func TestProfilesOfANodeDoNotShareALease(t *testing.T) {
	c := load(t, `
intervals: {requeue: 30s}
instances: {check: [{type: stagger, name: turn, config: {duration: 5m, leaseName: turn, leaseNamespace: ns}}]}
profiles:
- name: a
  operational: {transitions: [{check: turn, next: maintenance-required}]}
- name: b
  operational: {transitions: [{check: turn, next: maintenance-required}]}
`)
	node, data := in(Operational, Operational)
	d := Decide(c, node, data, world(node))
	if d.Profiles[0].Next != Required || len(d.Profiles[0].Take) != 1 || d.Profiles[1].Next != Operational || d.Profiles[1].Looks[0].Blocked != "profile a of the node takes lease ns/turn-0" {
		t.Errorf("%+v", d.Profiles)
	}
}

func TestStatesAreReadAgainWhenTheyChange(t *testing.T) {
	node := member("n1", Operational)
	w := world(node)
	for _, s := range []State{Operational, InMaintenance, Required} {
		node.Annotations = member("n1", s).Annotations
		if got := w.maintained(node); got != (s == InMaintenance) {
			t.Errorf("%s counts: %v", s, got)
		}
	}
}
