package profile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

// saturday is the time of tests: Saturday, 28 November 2026, 12:00 UTC.
var saturday = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// answers are facts that tests set.
type answers struct {
	leases  map[string]Lease // by name
	prefers map[string]bool
	value   float64
	err     error
}

func (a *answers) Lease(key LeaseKey) (Lease, bool, error) {
	lease, ok := a.leases[key.Name]
	return lease, ok, a.err
}
func (a *answers) PrefersOperational(node string) (bool, error) { return a.prefers[node], a.err }
func (a *answers) Query(string, string) (float64, error)        { return a.value, a.err }

// member returns a node whose profile p is in a state since the hour before saturday.
func member(name string, s State, labels ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: v1.ObjectMeta{Name: name, Labels: map[string]string{ProfileLabel: "p", StateLabel: string(s)}}}
	for i := 0; i < len(labels); i += 2 {
		n.Labels[labels[i]] = labels[i+1]
	}
	n.Annotations = map[string]string{DataAnnotation: Data{Profiles: map[string]*Progress{"p": {saturday.Add(-time.Hour), s, s}}}.String()}
	return n
}

// evaluate loads a check from its type and configuration and evaluates it for a node in profile p.
func evaluate(t *testing.T, kind, config string, node *corev1.Node, w World) (Result, error) {
	t.Helper()
	state := Operational
	if kind == "affinity" {
		state = Required
	}
	c, err := Load(fmt.Appendf(nil, `
intervals: {requeue: 30s}
instances: {check: [{type: %s, name: c, config: {%s}}]}
profiles:
- name: p
  %s: {transitions: [{check: c, next: in-maintenance}]}
`, kind, config, state), "f", Options{Env: none})
	if err != nil {
		t.Fatal(err)
	}
	if w.Now.IsZero() {
		w.Now = saturday
	}
	if w.Facts == nil {
		w.Facts = &answers{}
	}
	s := &subject{node: node, profile: "p", state: state, since: saturday.Add(-time.Hour), world: &w}
	return c.profiles["p"].states[state].transitions[0].checks["c"].of.evaluate(s)
}

func TestChecks(t *testing.T) {
	node := member("n1", Operational, "a", "1", "zone", "z1", "v", "1.2.3")
	node.Annotations["a"] = "1"
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	away := []*corev1.Node{node, member("n2", InMaintenance, "zone", "z1", "v", "1.10.0"), member("n3", InMaintenance, "zone", "z2", "v", "2.0.0", ProfileLabel, "q", "b", "")}
	at := func(day, hour, minute int) World {
		return World{Now: time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC)}
	}
	lease := func(age time.Duration) World {
		return World{Facts: &answers{leases: map[string]Lease{"l-0": {"other", saturday.Add(-age), 8 * time.Minute}}}}
	}
	value := func(v float64) World { return World{Facts: &answers{value: v}} }
	window := "start: '11:00', end: '13:00', weekdays: [sat, Sunday], exclude: [Nov 29]"
	stagger := "duration: 8m, leaseName: l, leaseNamespace: kube-system"
	for i, c := range []struct {
		kind, config string
		world        World
		want         bool
	}{
		{"hasLabel", "key: a", World{}, true},
		{"hasLabel", "key: a, value: '1'", World{}, true},
		{"hasLabel", "key: a, value: 1", World{}, true},
		{"hasLabel", "key: a, value: '2'", World{}, false},
		{"hasLabel", "key: b", World{}, false},
		{"hasAnnotation", "key: a, value: '1'", World{}, true},
		{"hasAnnotation", "key: b", World{}, false},
		{"anyLabel", "key: b", World{Nodes: away}, true},
		{"anyLabel", "key: b, value: x", World{Nodes: away}, false},
		{"condition", "type: Ready, status: Unknown", World{}, true},
		{"condition", "type: Ready, status: 'True'", World{}, false},
		{"condition", "type: DiskPressure, status: 'False'", World{}, false},
		{"maxMaintenance", "max: 3", World{Nodes: away}, true},
		{"maxMaintenance", "max: 2", World{Nodes: away}, false},
		{"maxMaintenance", "max: 2, groupBy: [zone]", World{Nodes: away}, true},
		{"maxMaintenance", "max: 1, groupBy: [zone]", World{Nodes: away}, false},
		{"maxMaintenance", "max: 1, groupLabel: rack", World{Nodes: away}, false},
		{"maxMaintenance", "max: 2, profile: q", World{Nodes: away}, true},
		{"maxMaintenance", "max: 1, skipAfter: 59m", World{Nodes: away}, true},
		{"maxMaintenance", "max: 2, skipAfter: 61m", World{Nodes: away}, false},
		{"maxMaintenance", "max: 0", World{}, false},
		{"maxMaintenance", "max: 1", World{Nodes: []*corev1.Node{node}, Busy: map[string]string{"n1": "p"}}, true},
		{"maxMaintenance", "max: 1", World{Nodes: []*corev1.Node{node, member("n4", Required)}, Busy: map[string]string{"n4": "p"}}, false},
		{"nodeCount", "count: 3", World{Nodes: away}, true},
		{"nodeCount", "count: 4", World{Nodes: away}, false},
		{"clusterSemver", "key: v", World{Nodes: away}, true},
		{"clusterSemver", "key: v", World{Nodes: []*corev1.Node{node, member("n2", Operational, "v", "1.2.0"), member("n3", Operational, "v", "new")}}, false},
		{"clusterSemver", "key: v, profileScoped: true", World{Nodes: []*corev1.Node{node, away[2]}}, false},
		{"stagger", stagger, World{}, true},
		{"stagger", stagger, lease(8*time.Minute + time.Second), true},
		{"stagger", stagger, lease(8 * time.Minute), false},
		{"stagger", stagger + ", parallel: 2", lease(0), true},
		{"timeWindow", window, World{}, true},
		{"timeWindow", window, at(28, 11, 0), false},
		{"timeWindow", window, at(28, 11, 1), true},
		{"timeWindow", window, at(28, 13, 0), false},
		{"timeWindow", window, at(27, 12, 0), false},
		{"timeWindow", window, at(29, 12, 0), false},
		{"timeWindow", window, World{Now: time.Date(2026, 12, 6, 12, 0, 0, 0, time.UTC)}, true},
		{"timeWindow", window, World{Now: time.Date(2026, 11, 28, 14, 30, 0, 0, time.FixedZone("", 2*3600))}, true},
		{"wait", "duration: 59m", World{}, true},
		{"wait", "duration: 1h", World{}, false},
		{"wait", "duration: 3599", World{}, true},
		{"waitExclude", "duration: 59m, exclude: [sun]", World{}, true},
		{"waitExclude", "duration: 1m, exclude: [sat]", World{}, false},
		{"waitExclude", "duration: 1m, exclude: [sat]", at(29, 0, 0), false},
		{"waitExclude", "duration: 1m, exclude: [sat]", at(29, 0, 2), true},
		{"waitExclude", "duration: 1h, exclude: [sat, sun]", at(30, 0, 59), false},
		{"waitExclude", "duration: 1h, exclude: [sat, sun]", at(30, 1, 1), true},
		{"waitExclude", "duration: 14h, exclude: [sun]", at(30, 0, 59), false},
		{"waitExclude", "duration: 14h, exclude: [sun]", at(30, 1, 1), true},
		{"prometheusInstant", "url: 'http://p', query: up, expr: value <= 1", value(1), true},
		{"prometheusInstant", "url: 'http://p', query: up, expr: value > 1 && value < 3", value(2), true},
		{"prometheusInstant", "url: 'http://p', query: up, expr: value > 1 && value < 3", value(3), false},
	} {
		got, err := evaluate(t, c.kind, c.config, node, c.world)
		if err != nil || got.Passed != c.want {
			t.Errorf("%d: %s {%s}: got %v (%s), %v", i, c.kind, c.config, got.Passed, got.Reason, err)
		}
		if got.Reason == "" {
			t.Errorf("%d: %s has no reason", i, c.kind)
		}
	}
}

func TestStaggerTakesTheFirstFreeLease(t *testing.T) {
	w := World{Facts: &answers{leases: map[string]Lease{"l-0": {"other", saturday, time.Minute}}}}
	got, err := evaluate(t, "stagger", "duration: 90s, leaseName: l, leaseNamespace: ns, parallel: 3", member("n1", Operational), w)
	if err != nil || got.Take == nil || *got.Take != (Take{LeaseKey{"ns", "l-1"}, 90 * time.Second}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestNodeWhoseTriggersAreInProgressKeepsItsLease(t *testing.T) {
	held := &answers{leases: map[string]Lease{"l-0": {"n1", saturday, 8 * time.Minute}}}
	for busy, want := range map[string]bool{"p": true, "q": false, "": false} {
		got, err := evaluate(t, "stagger", "duration: 8m, leaseName: l, leaseNamespace: ns", member("n1", Operational), World{Facts: held, Busy: map[string]string{"n1": busy}})
		if err != nil || got.Passed != want || got.Take != nil {
			t.Errorf("busy with %q: %+v, %v", busy, got, err)
		}
	}
}

func TestAffinity(t *testing.T) {
	nodes := []*corev1.Node{member("n1", Required), member("n2", Required), member("n3", Operational), member("n4", InMaintenance)}
	nodes[3].Annotations[DataAnnotation] = "unreadable"
	for i, c := range []struct {
		config  string
		prefers map[string]bool
		want    bool
	}{
		{"", nil, true},
		{"", map[string]bool{"n1": true}, false},
		{"", map[string]bool{"n1": true, "n2": true}, true},
		{"minOperational: 1", map[string]bool{"n1": true}, true},
		{"minOperational: 2", map[string]bool{"n1": true}, false},
	} {
		got, err := evaluate(t, "affinity", c.config, nodes[0], World{Nodes: nodes, Facts: &answers{prefers: c.prefers}})
		if err != nil || got.Passed != c.want {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
	}
}

func TestPrefersOperational(t *testing.T) {
	pod := func(key string, op corev1.NodeSelectorOperator, values ...string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "other"}, {Key: key, Operator: op, Values: values}}}}}}}}}
	}
	for i, c := range []struct {
		pod  *corev1.Pod
		want bool
	}{
		{pod(StateLabel, corev1.NodeSelectorOpIn, "operational"), true},
		{pod(StateLabel, corev1.NodeSelectorOpIn, "operational", "in-maintenance"), false},
		{pod(StateLabel, corev1.NodeSelectorOpNotIn, "operational"), false},
		{pod("zone", corev1.NodeSelectorOpIn, "operational"), false},
		{&corev1.Pod{}, false},
	} {
		if got := PrefersOperational(c.pod); got != c.want {
			t.Errorf("%d: got %v", i, got)
		}
	}
}

func TestChecksThatCannotAnswerAreErrors(t *testing.T) {
	broken := World{Facts: &answers{err: errors.New("no connection")}}
	for i, c := range []struct{ kind, config, want string }{
		{"stagger", "duration: 8m, leaseName: l, leaseNamespace: ns", "no connection"},
		{"prometheusInstant", "url: 'http://p', query: up, expr: value < 1", "no connection"},
		{"affinity", "", "no connection"},
		{"clusterSemver", "key: none", "the node has no label none with a version"},
		{"clusterSemver", "key: cloud.sap/maintenance-profile", "label cloud.sap/maintenance-profile: "},
	} {
		if _, err := evaluate(t, c.kind, c.config, member("n1", Required), broken); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d: %s: got %v", i, c.kind, err)
		}
	}
	bad := member("n2", InMaintenance)
	bad.Annotations[DataAnnotation] = "{"
	if _, err := evaluate(t, "maxMaintenance", "max: 1, skipAfter: 1h", member("n1", Required), World{Nodes: []*corev1.Node{bad}}); err == nil || !strings.Contains(err.Error(), "node n2") {
		t.Errorf("got %v", err)
	}
}
