package replace

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// published is the example of maintenance-controller's kubernikus/README.md (Apache-2.0).
const published = `
intervals:
  requeue: 30s # Minimum frequency to check for node replacements
  # Defines how long and frequent to check for pod deletions while draining
  podDeletion:
    period: 20s
    timeout: 5m
  # Defines how long and frequent to try to evict pods
  podEviction:
    period: 20s
    timeout: 5m
    force: false # If true and evictions do not succeed do normal DELETE calls
`

func TestPublishedExampleLoads(t *testing.T) {
	c, err := Load([]byte(published), "f", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := c.drain(); d.EvictionTimeout != 5*time.Minute || d.DeletionTimeout != 5*time.Minute || d.Force || c.Replace != nil || time.Duration(c.Stagger.Duration) != 10*time.Minute {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff([]string{"f:10:13: intervals.podEviction.period has no effect", "f:6:13: intervals.podDeletion.period has no effect"}, c.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"intervals: {requeue: 30s}\nreplace: {comand: [a]}":                              `f:2:11: unknown key "comand" in replace; did you mean "command"?`,
		"intervals: {requeue: 30s}\nreplace: {timeout: 1m}":                              `f:2:10: replace: want command or http`,
		"intervals: {requeue: 30s}\nreplace: {command: [a], http: {url: 'http://x'}}":    `f:2:10: replace: command and http are two hooks: write two tasks`,
		"intervals: {requeue: 30s}\nstagger: {parallel: 0}":                              `f:2:21: stagger.parallel: want at least 1, got "0"`,
		"intervals: {requeue: 30s}\nstagger: {duration: 0s}":                             `f:1:1: stagger.duration must be at least 1s: Leases count whole seconds`,
		"intervals: {requeue: 30s, podDeletion: {force: true}}":                          `f:1:1: intervals.podDeletion.force does not exist; intervals.podEviction has force`,
		"intervals: {requeue: 30s}\nreplace:\n  command: ['${NONE}']\n":                  `f:3:13: variable NONE of the environment is not set; ${NONE:text} has a default`,
		"intervals: {requeue: 30s, podEviction: {timeout: never}}":                       `f:1:50: intervals.podEviction.timeout: want a duration such as 30s, 8m or 1h30m, got "never"`,
		"intervals: {requeue: 30s}\ncloudProviderSecret: {name: a}\nreplace: {http: {}}": `f:3:17: replace.http: key "url" is required: http or https URL. Redirects are not followed`,
	} {
		_, err := Load([]byte(text), "f", func(string) (string, bool) { return "", false })
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		kubelet, server string
		want            bool
	}{
		{"v1.36.3", "v1.36.3", false},
		{"v1.35.4", "v1.36.3", true},
		{"v1.37.0", "v1.36.3", true},
		{"v1.36.3-rc.1", "v1.36.3", true},
		{"v1.36.3+k3s1", "v1.36.3", false},
		{"v1.36.10", "v1.36.9", true},
	} {
		if got, err := needsUpdate(c.kubelet, c.server); err != nil || got != c.want {
			t.Errorf("%s at %s: got %v, %v", c.kubelet, c.server, got, err)
		}
	}
	if _, err := needsUpdate("", "v1.36.3"); err == nil {
		t.Error("no version is no error")
	}
}

func TestLabelOfOutdatedKubelets(t *testing.T) {
	k := newCluster(t, published, nil)
	k.addNode("old", "v1.35.4", nil)
	k.addNode("new", "v1.36.3", nil)
	k.addNode("newer", "v1.36.4", map[string]any{UpdateLabel: "false"})
	k.addNode("odd", "unknown", nil)
	err := k.pass()
	if err == nil || !strings.Contains(err.Error(), "node odd: the kubelet's version: ") {
		t.Errorf("got %v", err)
	}
	for node, want := range map[string]any{"old": "true", "new": "false", "newer": "true", "odd": nil} {
		if got := k.label(node, UpdateLabel); got != want {
			t.Errorf("%s has %v", node, got)
		}
	}
	writes := len(k.api.Writes())
	_ = k.pass()
	if n := len(k.api.Writes()); n != writes {
		t.Errorf("the second pass writes %q", k.api.Writes()[writes:])
	}
}

// hooked starts a server for the hook, and returns the file with it and the bodies of its requests.
func hooked(t *testing.T, status *int) (file string, bodies *[]string) {
	t.Helper()
	bodies = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*bodies = append(*bodies, string(body))
		w.WriteHeader(*status)
	}))
	t.Cleanup(server.Close)
	return published + "replace: {http: {url: \"" + server.URL + "/replace\"}}\n", bodies
}

func TestNodesAreReplacedInTurn(t *testing.T) {
	status := 200
	file, bodies := hooked(t, &status)
	k := newCluster(t, file, nil)
	for i := range 3 {
		k.addNode(fmt.Sprintf("n%d", i), "v1.35.4", map[string]any{DeleteLabel: "true"})
	}
	k.addNode("stays", "v1.35.4", map[string]any{DeleteLabel: "false"})
	k.addPod("web", "n0")
	k.addBudget(0)
	k.passes(3)
	if !k.cordoned("n0") || k.cordoned("n1") || len(*bodies) != 0 || !k.said("node n0: pods are left: default/web (PodDisruptionBudget") {
		t.Fatalf("n0 cordoned: %v, n1: %v; %q", k.cordoned("n0"), k.cordoned("n1"), k.events)
	}
	object := k.api.Object("/api/v1/nodes/n0")
	object["spec"].(map[string]any)["unschedulable"] = false
	k.api.Put("/api/v1/nodes/n0", object)
	k.passes(1)
	if !k.cordoned("n0") {
		t.Error("n0 was uncordoned by somebody, and stays open while it is drained")
	}
	k.addBudget(1)
	k.passes(1) // 12:04
	if k.exists("n0") || !k.exists("n1") || len(*bodies) != 1 || (*bodies)[0] != `{"machine_id":"","node":"n0","phase":"replace","provider_id":"openstack:///id-n0","uid":"uid-n0"}` {
		t.Fatalf("n0: %v; %q; %q", k.exists("n0"), *bodies, k.events)
	}
	k.passes(10) // to 12:14
	if !k.exists("n1") || k.cordoned("n1") {
		t.Fatal("n1 goes within the 10 minutes of stagger")
	}
	k.passes(1)
	if k.exists("n1") || !k.exists("n2") {
		t.Errorf("n1: %v, n2: %v at %s", k.exists("n1"), k.exists("n2"), k.now)
	}
	k.passes(11)
	if k.exists("n2") || !k.exists("stays") || k.cordoned("stays") {
		t.Errorf("n2: %v, stays: %v", k.exists("n2"), k.exists("stays"))
	}
}

func TestNodeIsKeptUntilTheHookHasItsMachine(t *testing.T) {
	status := 503
	file, bodies := hooked(t, &status)
	k := newCluster(t, file, nil)
	k.addNode("n0", "v1.35.4", map[string]any{DeleteLabel: "true"})
	k.addNode("n1", "v1.35.4", map[string]any{DeleteLabel: "true"})
	for range 15 { // longer than the lease: n0 renews it
		err := k.pass()
		if err == nil || !strings.Contains(err.Error(), "node n0: the replace hook: ") || !strings.Contains(err.Error(), "503") || strings.Contains(err.Error(), "n1") {
			t.Fatalf("got %v", err)
		}
	}
	if !k.exists("n0") || k.cordoned("n1") || len(*bodies) != 15 {
		t.Fatalf("n0: %v, n1 cordoned: %v, %d requests", k.exists("n0"), k.cordoned("n1"), len(*bodies))
	}
	status = 200
	k.passes(1)
	if k.exists("n0") {
		t.Error("n0 is still there")
	}
}

func TestDrainThatTakesTooLongIsReportedAndGoesOn(t *testing.T) {
	status := 200
	file, _ := hooked(t, &status)
	k := newCluster(t, file, nil)
	k.addNode("n0", "v1.35.4", map[string]any{DeleteLabel: "true"})
	k.addPod("web", "n0")
	k.addBudget(0)
	k.passes(10)
	if err := k.pass(); err == nil || !strings.Contains(err.Error(), "pods are left 10m0s after the drain began: default/web") {
		t.Fatalf("got %v", err)
	}
	k.addBudget(1)
	k.passes(1)
	if k.exists("n0") {
		t.Error("n0 is still there")
	}
}

func TestForceDeletesPodsAfterTheEvictionTimeout(t *testing.T) {
	status := 200
	file, _ := hooked(t, &status)
	k := newCluster(t, strings.Replace(file, "force: false", "force: true", 1), nil)
	k.addNode("n0", "v1.35.4", map[string]any{DeleteLabel: "true"})
	k.addPod("web", "n0")
	k.addBudget(0)
	k.passes(5)
	if !k.exists("n0") {
		t.Fatal("n0 was gone before the eviction timeout")
	}
	k.passes(1)
	if k.exists("n0") || k.api.Object("/api/v1/namespaces/default/pods/web") != nil {
		t.Error("n0 is still there")
	}
}

func TestCancelledReplacementUndoesItsCordonOnly(t *testing.T) {
	status := 200
	file, _ := hooked(t, &status)
	for _, before := range []bool{false, true} {
		k := newCluster(t, file, nil)
		k.addNode("n0", "v1.35.4", map[string]any{DeleteLabel: "true"})
		k.addPod("web", "n0")
		k.addBudget(0)
		if before {
			object := k.api.Object("/api/v1/nodes/n0")
			object["spec"].(map[string]any)["unschedulable"] = true
			k.api.Put("/api/v1/nodes/n0", object)
		}
		k.passes(1)
		k.setLabel("n0", DeleteLabel, nil)
		k.passes(1)
		if k.cordoned("n0") != before || !k.said("the replacement was cancelled") {
			t.Errorf("cordoned before: %v, after: %v", before, k.cordoned("n0"))
		}
		annotations, _ := k.api.Object("/api/v1/nodes/n0")["metadata"].(map[string]any)["annotations"].(map[string]any)
		if annotations[Annotation] != nil {
			t.Errorf("annotations %v", annotations)
		}
	}
}

func TestNodesThatCannotBeReplacedAreRefused(t *testing.T) {
	status := 200
	file, bodies := hooked(t, &status)
	k := newCluster(t, file, nil)
	k.addNode("m1", "v1.35.4", map[string]any{DeleteLabel: "true", controlPlane: ""})
	if err := k.pass(); err == nil || !strings.Contains(err.Error(), "node m1: label cloud.sap/delete-node is on a master") || k.cordoned("m1") || len(*bodies) > 0 {
		t.Errorf("master: %v", err)
	}
	k = newCluster(t, published, nil)
	k.addNode("n0", "v1.35.4", map[string]any{DeleteLabel: "true"})
	if err := k.pass(); err == nil || !strings.Contains(err.Error(), "the file has no hook under replace") || k.cordoned("n0") {
		t.Errorf("no hook: %v", err)
	}
	k = newCluster(t, file, nil)
	k.addNode("n0", "v1.35.4", map[string]any{DeleteLabel: "true"})
	object := k.api.Object("/api/v1/nodes/n0")
	object["metadata"].(map[string]any)["annotations"] = map[string]any{Annotation: "soon"}
	k.api.Put("/api/v1/nodes/n0", object)
	if err := k.pass(); err == nil || !strings.Contains(err.Error(), "annotation deployer/replacing is not readable") {
		t.Errorf("annotation: %v", err)
	}
}
