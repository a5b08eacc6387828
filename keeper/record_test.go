package keeper

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	spec "deployer/cluster"
	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
	"deployer/keeper/maintenance"
	"deployer/keeper/maintenance/replace"
	"deployer/keeper/world"
	"deployer/tasks/control/kube/kubetest"
)

// events returns the events on an object, each as "type reason message".
func events(api *kubetest.API, kind, name string) (out []string) {
	for _, path := range api.Paths() {
		if !strings.Contains(path, "/events/") {
			continue
		}
		e := api.Object(path)
		of, _ := e["involvedObject"].(map[string]any)
		if of["kind"] == kind && of["name"] == name && of["uid"] != "" {
			out = append(out, strings.Join([]string{e["type"].(string), e["reason"].(string), e["message"].(string)}, " "))
		}
	}
	return out
}

// served returns the metrics.
func (c *cluster) served() string {
	answer := httptest.NewRecorder()
	c.metrics.Handler(c.fresh).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return answer.Body.String()
}

// TestEtcdActionsAreOnNodes: etcd is no object of Kubernetes, so the events are on the nodes of its members,
// also when the action took all of its time.
func TestEtcdActionsAreOnNodes(t *testing.T) {
	c := newCluster(t, "")
	c.passUntilLeader()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	full := world.World{Etcd: world.Etcd{Known: true, NoSpace: true, Members: []spec.EtcdMemberState{
		{Host: "m1", Listed: true, Serves: true}, {Host: "m2", Listed: true, Serves: true}, {Host: "m3", Listed: true, Serves: true}, {Member: "stranger", Listed: true, Serves: true},
	}}}
	for _, a := range []decide.Action{
		decide.EtcdCare(spec.KeeperSpec{}.WithDefaults().Etcd, full).Actions[0],
		{Kind: decide.RenewCertificates, Object: decide.NodeNamed("m1"), Why: "admin: it expires"},
	} {
		c.record(ctx, c.access.Kube, "m1", a.Objects(), entryOf(a, nil))
	}
	for _, host := range []string{"m1", "m2", "m3"} {
		if got := events(c.api, "Node", host); !slices.Contains(got, "Normal FreeEtcdSpace done: its database is full, and it refuses writes") {
			t.Errorf("events of %s: %q", host, got)
		}
	}
	if got := events(c.api, "Node", "m1"); len(got) != 2 || !slices.Contains(got, "Normal RenewCertificates done: admin: it expires") {
		t.Errorf("events of m1: %q", got)
	}
	if got := events(c.api, "Node", "n3"); len(got) > 0 {
		t.Errorf("n3 has no member, and events %q", got)
	}
}

// TestActionsOutliveTheKeeper: a new process on the host has the last actions in its status.
func TestActionsOutliveTheKeeper(t *testing.T) {
	c := newCluster(t, "")
	c.passUntilLeader()
	entries, err := actionlog.In(c.state).Last(20)
	if err != nil || len(entries) != 1 || entries[0].Action != "ForceDeletePod" || !strings.Contains(entries[0].Why, "node n3 has not reported") {
		t.Fatalf("%+v, %v", entries, err)
	}
	next := New(c.options)
	next.loadDone()
	if !slices.Equal(next.done, entries) {
		t.Errorf("the next process knows %+v", next.done)
	}
}

// TestDryRunIsNotInTheFile: nothing was done.
func TestDryRunIsNotInTheFile(t *testing.T) {
	c := newCluster(t, "dry_run: true")
	c.passUntilLeader()
	if entries, err := actionlog.In(c.state).Last(20); err != nil || len(entries) > 0 || len(c.done) != 1 {
		t.Errorf("%+v, %v; status %+v", entries, err, c.done)
	}
}

const drains = `intervals: {requeue: 60s}
instances:
  check: [{type: hasLabel, name: wanted, config: {key: drain, value: "true"}}, {type: hasLabel, name: never, config: {key: never, value: "true"}}]
  notify: []
  trigger: [{type: drain, name: drain, config: {}}]
profiles:
- name: p
  operational: {transitions: [{check: wanted, next: in-maintenance}]}
  maintenance-required: {}
  in-maintenance: {enter: drain, transitions: [{check: never, next: operational}]}
`

// TestProfilesAreReported: what profiles do is reported on the Node, in status, metrics and file; what each pass
// repeats is reported once.
func TestProfilesAreReported(t *testing.T) {
	c := newCluster(t, "profiles: "+filepath.Join(t.TempDir(), "profiles.yaml"))
	file, _ := os.ReadFile(c.options.Config)
	_, path, _ := strings.Cut(string(file), "profiles: ")
	path = strings.TrimSuffix(strings.TrimSpace(path), "}")
	if err := os.WriteFile(path, []byte(drains), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, annotation := range map[string]string{"n2": "", "n3": "no JSON"} {
		node := c.api.Object("/api/v1/nodes/" + name)
		meta := node["metadata"].(map[string]any)
		meta["labels"] = map[string]any{"cloud.sap/maintenance-profile": "p", "drain": "true"}
		if annotation != "" {
			meta["annotations"] = map[string]any{"cloud.sap/maintenance-data": annotation}
		}
		c.api.Put("/api/v1/nodes/"+name, node)
	}
	c.api.Put("/api/v1/namespaces/default/pods/stays", map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"namespace": "default", "name": "stays", "uid": "uid-stays", "labels": map[string]any{"app": "web"}}, "spec": map[string]any{"nodeName": "n2"}, "status": map[string]any{"phase": "Running"}})
	c.api.Put("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web", map[string]any{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"name": "web", "namespace": "default"},
		"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}, "status": map[string]any{"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}})
	c.passUntilLeader()
	for range 4 {
		clear(c.profiles.nextOne)
		c.pass1()
	}
	got := events(c.api, "Node", "n2")
	if len(got) != 2 || !strings.HasPrefix(got[0], "Normal ChangeMaintenanceState done: profile p: operational -> in-maintenance") || !strings.HasPrefix(got[1], "Normal RunMaintenanceTrigger in progress: profile p: trigger drain: ") {
		t.Errorf("events of n2: %q", got)
	}
	if got := events(c.api, "Node", "n3"); len(got) != 1 || !strings.HasPrefix(got[0], "Warning MaintainNode ") {
		t.Errorf("events of n3: %q", got)
	}
	entries, err := actionlog.In(c.state).Last(20)
	if err != nil || len(entries) != 4 || !slices.Equal(c.reported().Done, entries) { // the pod of n3, too
		t.Errorf("%+v, %v; status %+v", entries, err, c.reported().Done)
	}
	for _, want := range []string{`{action="ChangeMaintenanceState",result="done"} 1`, `{action="RunMaintenanceTrigger",result="in-progress"} 1`, `{action="MaintainNode",result="failed"} 1`} {
		if metrics := c.served(); !strings.Contains(metrics, "deployer_keeper_actions_total"+want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
}

func TestEntriesOfEvents(t *testing.T) {
	node := &corev1.Node{}
	node.Name = "n1"
	for _, c := range []struct {
		event          nodeEvent
		action, result string
		why            string
		once           bool
	}{
		{ofProfile(maintenance.Event{Kind: maintenance.Notified, Node: node, Profile: "p", Instance: "mail"}), notify, actionlog.ResultDone, "profile p: notification mail", true},
		{ofProfile(maintenance.Event{Kind: maintenance.Triggered, Node: node, Profile: "p", Instance: "label"}), runTrigger, actionlog.ResultDone, "profile p: trigger label", false},
		{ofProfile(maintenance.Event{Kind: maintenance.Failed, Node: node, Profile: "p", Err: os.ErrPermission}), maintain, "permission denied", "profile p", false},
		{ofProfile(maintenance.Event{Kind: maintenance.Ignored, Node: node, Profile: "q", Text: "no such profile"}), maintain, "no such profile", "profile q", false},
		{ofReplacement(replace.Event{Kind: replace.Outdated, Node: node, Text: "the kubelet is old"}), labelOutdated, actionlog.ResultDone, "the kubelet is old", true},
		{ofReplacement(replace.Event{Kind: replace.Begun, Node: node, Text: "cordoned"}), replaceNode, actionlog.ResultInProgress, "cordoned", true},
		{ofReplacement(replace.Event{Kind: replace.InProgress, Node: node, Text: "2 pods"}), replaceNode, actionlog.ResultInProgress, "2 pods", false},
		{ofReplacement(replace.Event{Kind: replace.Replaced, Node: node, Text: "gone"}), replaceNode, actionlog.ResultDone, "gone", true},
		{ofReplacement(replace.Event{Kind: replace.Cancelled, Node: node, Text: "cancelled"}), replaceNode, actionlog.ResultDone, "cancelled", true},
		{ofReplacement(replace.Event{Kind: replace.Failed, Node: node, Err: os.ErrPermission}), replaceNode, "permission denied", "", false},
	} {
		e := c.event.entry
		if e.Action != c.action || e.Result != c.result || e.Why != c.why || c.event.once != c.once {
			t.Errorf("%s: %+v, once %t; want %+v", c.event.line, e, c.event.once, c)
		}
	}
}

// TestNotices: a notice is reported when it is new, when its text has changed for some time, and after an hour.
func TestNotices(t *testing.T) {
	now := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	var n notices
	for i, step := range []struct {
		after  time.Duration // since the last step
		text   string
		log    bool
		report bool
	}{
		{0, "3 pods", true, true},
		{time.Minute, "3 pods", false, false},
		{time.Minute, "2 pods", true, false},
		{time.Minute, "2 pods", false, false},
		{2 * time.Minute, "2 pods", false, true},
		{time.Minute, "2 pods", false, false},
		{58 * time.Minute, "2 pods", false, false},
		{time.Minute, "2 pods", false, true},
		{2 * time.Hour, "2 pods", true, true}, // nobody has repeated it
	} {
		now = now.Add(step.after)
		n.begin(now)
		if log, report := n.see("n1/p/RunMaintenanceTrigger/drain", step.text, now); log != step.log || report != step.report {
			t.Errorf("step %d: log %t, report %t; want %+v", i, log, report, step)
		}
	}
	if n.forget("n1/p/"); len(n.of) > 0 {
		t.Errorf("%+v", n.of)
	}
	reported := 0
	for range 3 {
		now = now.Add(time.Second)
		n.begin(now)
		for i := range maxNotices + 10 {
			if _, report := n.see(string(rune('a'+i)), "failed", now); report {
				reported++
			}
		}
	}
	if reported != maxNotices+10 {
		t.Errorf("%d notices were reported, want each once, some of them later", reported)
	}
}
