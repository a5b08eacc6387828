package maintenance

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"deployer/keeper/maintenance/profile"
)

// simple has a profile that goes round by the label go, with triggers that tests choose.
func simple(required, enter string) string {
	return `
intervals: {requeue: 60s}
instances:
  check:
  - {type: hasLabel, name: go, config: {key: go}}
  - {type: maxMaintenance, name: count, config: {max: 1}}
  - {type: stagger, name: turn, config: {duration: 5m, leaseName: turn, leaseNamespace: kube-system}}
  notify:
  - {type: slack, name: tell, config: {hook: "https://hooks.slack.com/services/SECRET", channel: c, message: "{{ .Node.Name }}"}, schedule: {type: periodic, config: {interval: 24h}}}
  trigger:
  - {type: eviction, name: cordon, config: {action: cordon}}
  - {type: eviction, name: uncordon, config: {action: uncordon}}
  - {type: eviction, name: drain, config: {action: drain, evictionTimeout: 2m, deletionTimeout: 2m}}
  - {type: eviction, name: force, config: {action: drain, evictionTimeout: 2m, deletionTimeout: 2m, forceEviction: true}}
  - {type: alterFinalizer, name: hold, config: {key: example.com/hold}}
  - {type: alterFinalizer, name: release, config: {key: example.com/hold, remove: true}}
  - {type: alterLabel, name: mark, config: {key: mark, value: x}}
  - {type: reboot, name: reboot}
profiles:
- name: p
  operational: {transitions: [{check: go, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: count && turn, next: in-maintenance, trigger: "` + required + `"}]}
  in-maintenance: {enter: "` + enter + `", transitions: [{check: "!go", next: operational, trigger: uncordon && release}]}
`
}

func going(name string) []string { return []string{profile.ProfileLabel, "p", "go", ""} }

func TestDrainGoesOnOverPasses(t *testing.T) {
	k := newCluster(t, simple("cordon && hold", "drain"), &work{})
	k.addNode("n1", going("p")...)
	k.addPod("web", "n1", map[string]any{"app": "web"})
	k.addPod("free", "n1", nil)
	k.addPod("other", "n2", nil)
	k.addBudget(0)
	k.passes(2)
	if k.state("n1", "p") != profile.InMaintenance || !k.cordoned("n1") || k.api.Object("/api/v1/namespaces/default/pods/free") == nil {
		t.Fatalf("n1 is %s", k.state("n1", "p"))
	}
	k.passes(2)
	if k.api.Object("/api/v1/namespaces/default/pods/free") != nil || !k.said("in-progress drain: pods are left: default/web (PodDisruptionBudget default/web allows no disruption") {
		t.Fatalf("events %q", k.events)
	}
	k.edit("n1", "labels", map[string]any{"go": nil})
	k.passes(1)
	if k.state("n1", "p") != profile.InMaintenance {
		t.Fatal("the node left maintenance before it was drained")
	}
	if err := k.pass(); err == nil || !strings.Contains(err.Error(), "node n1: trigger drain: pods are left 4m0s after the drain began: default/web") {
		t.Fatalf("after the timeouts: %v", err)
	}
	k.addBudget(1)
	k.passes(2)
	if k.state("n1", "p") != profile.Operational || k.cordoned("n1") || k.api.Object("/api/v1/namespaces/default/pods/web") != nil || k.api.Object("/api/v1/namespaces/default/pods/other") == nil {
		t.Errorf("n1 is %s: %q", k.state("n1", "p"), k.events)
	}
	meta := k.api.Object("/api/v1/nodes/n1")["metadata"].(map[string]any)
	if f, _ := meta["finalizers"].([]any); len(f) != 0 {
		t.Errorf("finalizers %v", f)
	}
}

func TestForcedDrainDeletesPodsAfterTheEvictionTimeout(t *testing.T) {
	k := newCluster(t, simple("hold", "force"), &work{})
	k.addNode("n1", going("p")...)
	k.addPod("web", "n1", map[string]any{"app": "web"})
	k.addBudget(0)
	k.passes(3) // in maintenance at 12:01, first step at 12:02
	if k.api.Object("/api/v1/namespaces/default/pods/web") == nil || !k.cordoned("n1") {
		t.Fatalf("the pod was deleted at once, or the node is open: cordoned %v", k.cordoned("n1"))
	}
	k.passes(1)
	if k.api.Object("/api/v1/namespaces/default/pods/web") != nil || slices.ContainsFunc(k.api.Writes(), func(w string) bool { return strings.HasPrefix(w, "EVICT") }) {
		t.Errorf("writes %q", k.api.Writes())
	}
}

func TestTransitionWaitsForItsTriggers(t *testing.T) {
	w := &work{done: map[string]bool{}}
	k := newCluster(t, simple("mark && reboot", ""), w)
	k.addNode("n1", going("p")...)
	k.addNode("n2", going("p")...)
	k.passes(8)
	if k.state("n1", "p") != profile.Required || k.state("n2", "p") != profile.Required || len(w.asked) != 7 {
		t.Fatalf("n1 %s, n2 %s, asked %d times", k.state("n1", "p"), k.state("n2", "p"), len(w.asked))
	}
	for _, a := range w.asked {
		if a.ID != w.asked[0].ID || a.Node.Name != "n1" || !a.Since.Equal(saturday.Add(time.Minute)) {
			t.Errorf("asked for %+v, first for %s", a, w.asked[0].ID)
		}
	}
	if k.meta("n1", "labels")["mark"] != "x" {
		t.Error("the trigger before the reboot has no effect")
	}
	w.done["reboot"] = true
	k.passes(1)
	if k.state("n1", "p") != profile.InMaintenance || k.state("n2", "p") != profile.Required {
		t.Errorf("n1 %s, n2 %s", k.state("n1", "p"), k.state("n2", "p"))
	}
	if _, ok := w.asked[0].Of.(*profile.Reboot); !ok || !strings.Contains(w.asked[0].ID, "uid-n1/p/") {
		t.Errorf("%+v", w.asked[0])
	}
}

func TestFailedTriggerKeepsTheStateAndHoldsUpOthers(t *testing.T) {
	w := &work{err: errors.New("the host is gone")}
	k := newCluster(t, simple("mark && reboot", ""), w)
	k.addNode("n1", going("p")...)
	k.addNode("n2", going("p")...)
	k.passes(1)
	for range 8 { // longer than the lease of stagger
		if err := k.pass(); err == nil || err.Error() != "node n1: trigger reboot: the host is gone" {
			t.Fatalf("got %v", err)
		}
	}
	if k.state("n1", "p") != profile.Required || k.state("n2", "p") != profile.Required || k.meta("n1", "labels")["mark"] != nil || k.said("triggered mark") {
		t.Errorf("n1 %s, n2 %s, labels %v", k.state("n1", "p"), k.state("n2", "p"), k.meta("n1", "labels"))
	}
	// The check of the transition does not pass any more: the node does not hold up others.
	k.edit("n1", "labels", map[string]any{profile.ProfileLabel: "none"})
	w.err, w.done = nil, map[string]bool{"reboot": true}
	k.passes(5) // n1 has taken the lease again at 12:07
	if k.state("n2", "p") != profile.InMaintenance {
		t.Errorf("n2 is %s: %q", k.state("n2", "p"), k.events)
	}
}

func TestErrorOfOneNodeDoesNotStopOthers(t *testing.T) {
	k := newCluster(t, simple("mark", ""), &work{})
	for _, name := range []string{"n1", "n2"} {
		k.addNode(name, going("p")...)
	}
	k.edit("n1", "annotations", map[string]any{profile.DataAnnotation: `{"Profiles":{"p":{"Current":"asleep","Previous":"asleep"}}}`})
	before := k.meta("n1", "annotations")[profile.DataAnnotation]
	for range 2 {
		err := k.pass()
		if err == nil || !strings.Contains(err.Error(), `node n1: reading annotation cloud.sap/maintenance-data: profile p: there is no state "asleep"`) {
			t.Fatalf("got %v", err)
		}
	}
	if k.state("n2", "p") != profile.InMaintenance || k.meta("n1", "annotations")[profile.DataAnnotation] != before {
		t.Errorf("n2 is %s, n1 has %v", k.state("n2", "p"), k.meta("n1", "annotations"))
	}
}

func TestProfileRemovedWhileInMaintenance(t *testing.T) {
	k := newCluster(t, simple("cordon", ""), &work{})
	k.addNode("n1", going("p")...)
	k.addNode("n2", going("p")...)
	k.passes(2)
	k.edit("n1", "labels", map[string]any{profile.ProfileLabel: nil})
	k.passes(1)
	if k.state("n1", "p") != "" || k.state("n1", "default") != profile.Operational || k.meta("n1", "labels")[profile.StateLabel] != "operational" || !k.cordoned("n1") {
		t.Errorf("n1: %v %v", k.meta("n1", "annotations"), k.meta("n1", "labels"))
	}
	k.passes(6)
	if k.state("n2", "p") != profile.InMaintenance {
		t.Errorf("n2 is %s", k.state("n2", "p"))
	}
}

// concurrent makes another client change a node just before the first patch of it.
func concurrent(k *cluster, change func()) {
	done := false
	k.api.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, "/api/v1/nodes/") && !done {
			done = true
			change()
		}
		return false
	}
}

func TestChangesOfOtherClientsStay(t *testing.T) {
	k := newCluster(t, simple("mark", ""), &work{})
	k.addNode("n1", going("p")...)
	k.passes(1)
	concurrent(k, func() { k.edit("n1", "labels", map[string]any{"theirs": "1"}) })
	k.passes(1)
	if labels := k.meta("n1", "labels"); labels["theirs"] != "1" || labels["mark"] != "x" || k.state("n1", "p") != profile.InMaintenance {
		t.Errorf("labels %v", labels)
	}
}

func TestStatesThatAnotherClientChangedAreNotOverwritten(t *testing.T) {
	k := newCluster(t, simple("mark", ""), &work{})
	k.addNode("n1", going("p")...)
	k.passes(1)
	const theirs = `{"Profiles":{"p":{"Transition":"2026-11-28T10:00:00Z","Current":"operational","Previous":"operational"}},"Notifications":{}}`
	concurrent(k, func() { k.edit("n1", "annotations", map[string]any{profile.DataAnnotation: theirs}) })
	if err := k.pass(); err == nil || !strings.Contains(err.Error(), "another client has changed label cloud.sap/maintenance-profile or annotation cloud.sap/maintenance-data") {
		t.Fatalf("got %v", err)
	}
	if got := k.meta("n1", "annotations")[profile.DataAnnotation]; got != theirs || k.meta("n1", "labels")["mark"] != nil {
		t.Errorf("the node has %v", got)
	}
}

func TestNewNodeWithTheNameIsNotChanged(t *testing.T) {
	k := newCluster(t, simple("mark", ""), &work{})
	k.addNode("n1", going("p")...)
	concurrent(k, func() {
		k.addNode("n1", going("p")...)
		object := k.api.Object("/api/v1/nodes/n1")
		object["metadata"].(map[string]any)["uid"] = "another"
		k.api.Put("/api/v1/nodes/n1", object)
	})
	if err := k.pass(); err == nil || !strings.Contains(err.Error(), "there is a new node with this name") || k.state("n1", "p") != "" {
		t.Errorf("%v, n1 is %q", err, k.state("n1", "p"))
	}
}

func TestNotificationOfTwoProfilesIsSentOnce(t *testing.T) {
	file := strings.ReplaceAll(simple("mark", ""), "maintenance-required: {transitions", "maintenance-required: {notify: tell, transitions") +
		"- name: q\n  operational: {transitions: [{check: go, next: maintenance-required}]}\n  maintenance-required: {notify: tell}\n"
	k := newCluster(t, file, &work{})
	slack := &slackAPI{answer: "ok"}
	k.c.HTTP = &http.Client{Transport: slack}
	k.addNode("n1", profile.ProfileLabel, "p--q", "go", "")
	k.passes(2)
	if k.state("n1", "q") != profile.Required || len(slack.messages) != 1 {
		t.Errorf("q %s, %d messages", k.state("n1", "q"), len(slack.messages))
	}
}

func TestNodeWhoseStateMayBeStoredCountsInThePass(t *testing.T) {
	k := newCluster(t, strings.ReplaceAll(simple("mark", ""), "count && turn", "count"), &work{})
	k.addNode("n1", going("p")...)
	k.addNode("n2", going("p")...)
	k.passes(1)
	k.api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch || r.URL.Path != "/api/v1/nodes/n1" {
			return false
		}
		w.WriteHeader(http.StatusGatewayTimeout)
		return true
	}
	if err := k.pass(); err == nil || k.state("n2", "p") != profile.Required {
		t.Fatalf("%v, n2 is %s", err, k.state("n2", "p"))
	}
	k.api.Before = nil
	k.passes(1)
	if k.state("n1", "p") != profile.InMaintenance || k.state("n2", "p") != profile.Required {
		t.Errorf("n1 %s, n2 %s", k.state("n1", "p"), k.state("n2", "p"))
	}
}

func TestNotificationThatFailsKeepsTheState(t *testing.T) {
	file := strings.ReplaceAll(simple("mark", ""), "maintenance-required: {transitions", "maintenance-required: {notify: tell, transitions")
	k := newCluster(t, file, &work{})
	slack := &slackAPI{down: true}
	k.c.HTTP = &http.Client{Transport: slack}
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5"} {
		k.addNode(name, going("p")...)
	}
	k.passes(1)
	err := k.pass()
	if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "node n1: notification tell (slack): connection refused") {
		t.Fatalf("got %v", err)
	}
	if slack.requests != maxUnsent || !strings.Contains(err.Error(), "node n5: notification tell is not sent: it has failed for 3 nodes in this pass") {
		t.Errorf("%d requests; %v", slack.requests, err)
	}
	if k.state("n1", "p") != profile.Required {
		t.Errorf("n1 is %s", k.state("n1", "p"))
	}
}

func TestEachDecisionIsObserved(t *testing.T) {
	k := newCluster(t, simple("mark", ""), &work{})
	k.addNode("n1", going("p")...)
	k.addNode("n2", going("p")...)
	k.passes(2)
	why := map[string]string{}
	k.c.Observe = func(node *corev1.Node, d profile.Decision) { why[node.Name] = d.Profiles[0].Looks[0].Why() }
	k.passes(1)
	if want := "count: 1 of at most 1 nodes are in maintenance: n1; turn: node n1 passed last, 4m0s left"; why["n2"] != want {
		t.Errorf("n2: %s", why["n2"])
	}
	if want := `go: label go is ""`; why["n1"] != want {
		t.Errorf("n1: %s", why["n1"])
	}
}

func TestInterruptedPassStopsBetweenNodes(t *testing.T) {
	k := newCluster(t, simple("mark", ""), &work{})
	k.addNode("n1", going("p")...)
	k.addNode("n2", going("p")...)
	ctx, cancel := context.WithCancelCause(t.Context())
	k.c.Record = func(Event) { cancel(errors.New("the keeper ends")) }
	if err := k.c.Pass(ctx); err == nil || err.Error() != "the keeper ends" || k.state("n1", "p") != profile.Required || k.state("n2", "p") != "" {
		t.Errorf("got %v, n1 %s, n2 %q", err, k.state("n1", "p"), k.state("n2", "p"))
	}
}

func TestSecondNodeOfAPassSeesTheLeaseOfTheFirst(t *testing.T) {
	k := newCluster(t, strings.ReplaceAll(simple("mark", ""), "count && turn", "turn"), &work{})
	k.addNode("n1", going("p")...)
	k.addNode("n2", going("p")...)
	k.passes(2) // without an error
	if k.state("n1", "p") != profile.InMaintenance || k.state("n2", "p") != profile.Required {
		t.Errorf("n1 %s, n2 %s", k.state("n1", "p"), k.state("n2", "p"))
	}
	k.passes(6)
	if k.state("n2", "p") != profile.InMaintenance {
		t.Errorf("n2 %s after 5m", k.state("n2", "p"))
	}
}

func TestSecondProfileWaitsWhileTriggersAreInProgress(t *testing.T) {
	file := simple("mark && reboot", "") + `
- name: q
  operational: {transitions: [{check: go, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: go, next: operational}]}
`
	w := &work{}
	k := newCluster(t, file, w)
	k.addNode("n1", profile.ProfileLabel, "p--q", "go", "")
	k.passes(3)
	if k.state("n1", "p") != profile.Required || k.state("n1", "q") != profile.Required || len(w.asked) != 2 {
		t.Errorf("p %s, q %s, asked %d times", k.state("n1", "p"), k.state("n1", "q"), len(w.asked))
	}
	w.done = map[string]bool{"reboot": true}
	k.passes(1)
	if k.state("n1", "p") != profile.InMaintenance {
		t.Errorf("p %s", k.state("n1", "p"))
	}
}
