package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/engine/probe"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
	"deployer/tasks/control/report"
)

// fakeCluster is a fake API server with probe pods. reach decides the result of each
// target of a probe; broken are the statuses of pods that do not start, by node.
type fakeCluster struct {
	api    *kubetest.API
	client *kube.Client

	mu     sync.Mutex
	reach  func(node string, t probe.Target, try int) error
	tries  map[string]int // requests to the probe of each node
	broken map[string]map[string]any
}

func newFakeCluster(t *testing.T, nodes ...string) *fakeCluster {
	t.Helper()
	w := &fakeCluster{api: &kubetest.API{}, tries: map[string]int{}, broken: map[string]map[string]any{}}
	w.reach = func(string, probe.Target, int) error { return nil }
	for _, name := range nodes {
		w.api.Put("/api/v1/nodes/"+name, map[string]any{
			"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
			"status": map[string]any{"nodeInfo": map[string]any{"kubeletVersion": "v1.36.3"}, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
		})
	}
	w.api.Written = w.control
	w.api.Before = w.proxy
	server := w.api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	w.client = client.WithRetryTimeout(time.Second)
	return w
}

// control acts as the controllers and kubelets on a stored object.
func (w *fakeCluster) control(path string, o map[string]any) {
	meta := o["metadata"].(map[string]any)
	if meta["creationTimestamp"] == nil {
		meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	switch {
	case o["kind"] == "Service":
		o["spec"].(map[string]any)["clusterIP"] = "10.96.7.7"
	case o["kind"] == "Pod" && strings.Contains(path, "deployer-verify-"):
		node := o["spec"].(map[string]any)["nodeName"].(string)
		status := w.broken[node]
		if status == nil {
			status = map[string]any{"phase": "Running", "podIP": ip(node), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
		}
		o["status"] = status
	}
}

func ip(node string) string { return "10.244." + strings.TrimLeft(node, "n") + ".2" }

// proxy acts as the API server's proxy to pods and as the probes behind it.
func (w *fakeCluster) proxy(rw http.ResponseWriter, r *http.Request) bool {
	_, rest, ok := strings.Cut(r.URL.Path, "/pods/probe-")
	node, _, proxied := strings.Cut(rest, ":8080/proxy/check")
	if !ok || !proxied {
		return false
	}
	var request probe.Request
	_ = json.NewDecoder(r.Body).Decode(&request)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tries[node]++
	var response probe.Response
	for _, t := range request.Targets {
		result := probe.Result{OK: true}
		if err := w.reach(node, t, w.tries[node]); err != nil {
			result = probe.Result{Detail: err.Error()}
		}
		response.Results = append(response.Results, result)
	}
	_ = json.NewEncoder(rw).Encode(response)
	return true
}

func options() Options {
	return Options{Image: "deployer.local/probe:x", ServiceIP: "10.96.0.1", Outside: "example.org"}
}

func texts(rows []report.Row) (out []string) {
	for _, r := range rows {
		out = append(out, strings.TrimSpace(r.Host+" "+r.Check)+": "+r.Detail)
	}
	return out
}

// namespaces returns the objects in namespaces of checks.
func (w *fakeCluster) namespaces() (out []string) {
	for _, path := range w.api.Paths() {
		if strings.Contains(path, "deployer-verify-") {
			out = append(out, path)
		}
	}
	return out
}

func TestPodsOfAHealthyClusterReportNoProblemAndCleanUp(t *testing.T) {
	w := newFakeCluster(t, "n1", "n2", "n3")
	rows := Pods(context.Background(), w.client, options())
	if bad := report.Problems(rows); len(bad) != 0 {
		t.Errorf("%v", texts(bad))
	}
	var got []string
	for _, r := range rows {
		if r.Host == "n2" {
			got = append(got, r.Check+" "+r.Detail)
		}
	}
	want := []string{"test pod runs", "DNS inside 2 of 2", "DNS outside 1 of 1", "pod to pod 2 of 2", "service by IP 2 of 2", "service by name 1 of 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if left := w.namespaces(); left != nil {
		t.Errorf("objects left: %v", left)
	}
}

func TestPodsReportTargetsThatAreNotReached(t *testing.T) {
	w := newFakeCluster(t, "n1", "n2", "n3")
	w.reach = func(node string, target probe.Target, try int) error {
		switch {
		case node == "n1" && strings.Contains(target.Address, ip("n3")):
			return errors.New("no answer within 3s")
		case strings.Contains(target.Address, "10.96.7.7") && try == 1:
			return errors.New("connection refused") // the rules of the Service are late
		case target.Kind == "dns" && strings.HasPrefix(target.Name, "example"):
			return errors.New("server misbehaving")
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	got := texts(report.Problems(Pods(ctx, w.client, options())))
	want := []string{
		"n1 DNS outside: 1 of 1 fail: example.org: server misbehaving",
		"n1 pod to pod: 1 of 2 fail: n3 (10.244.3.2): no answer within 3s",
		"n2 DNS outside: 1 of 1 fail: example.org: server misbehaving",
		"n3 DNS outside: 1 of 1 fail: example.org: server misbehaving",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSettleTime: kube-proxy and DNS learn of a new Service up to two minutes after the API server
// has started, and later only when something is wrong.
func TestSettleTime(t *testing.T) {
	w := newFakeCluster(t, "n1")
	now := time.Now()
	pod := func(name string, started time.Duration) {
		w.api.Put("/api/v1/namespaces/kube-system/pods/"+name, map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "kube-system", "labels": map[string]any{"component": name[:len(name)-3]}},
			"status": map[string]any{"containerStatuses": []any{map[string]any{
				"name": "x", "state": map[string]any{"running": map[string]any{"startedAt": now.Add(-started).UTC().Format(time.RFC3339)}},
			}}},
		})
	}
	for _, tt := range []struct {
		pod     string
		started time.Duration
		want    time.Duration
	}{
		{"kube-proxy-m1", time.Second, 65 * time.Second},
		{"kube-apiserver-m1", time.Hour, 65 * time.Second},
		{"kube-apiserver-m2", 100 * time.Second, 65 * time.Second},
		{"kube-apiserver-m3", 20 * time.Second, 105 * time.Second},
		{"kube-apiserver-m4", -time.Hour, 125 * time.Second}, // a clock that is wrong
	} {
		pod(tt.pod, tt.started)
		if got := settleTime(t.Context(), w.client, now); got < tt.want-time.Second || got > tt.want+time.Second {
			t.Errorf("after %s, started %s ago: %s, want %s", tt.pod, tt.started, got, tt.want)
		}
	}
}

// TestServiceThatDoesNotAnswerNamesItsCause: kube-proxy may not know of API servers that were all
// away, and nothing on the node is broken.
func TestServiceThatDoesNotAnswerNamesItsCause(t *testing.T) {
	refused := probe.Result{Detail: "connection refused"}
	rows := summarize("m1", []*probeResult{
		{check: serviceByIP, what: "the API at 10.96.0.1", result: refused},
		{check: podToPod, what: "n1 (10.244.1.2)", result: refused},
	})
	if len(rows) != 2 || rows[0].OK || !strings.Contains(rows[0].Fix, "kube-proxy") || !strings.Contains(rows[0].Fix, "deployer install") || rows[1].Fix != "" {
		t.Errorf("%+v", rows)
	}
}

// TestPodThatNoOtherPodReachesIsAProblemOfItsNode checks that one node with a wrong firewall
// or without routes does not make all others look broken.
func TestPodThatNoOtherPodReachesIsAProblemOfItsNode(t *testing.T) {
	w := newFakeCluster(t, "n1", "n2", "n3")
	w.reach = func(_ string, target probe.Target, _ int) error {
		if strings.Contains(target.Address, ip("n3")) {
			return errors.New("no answer within 3s")
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	rows := Pods(ctx, w.client, options())
	want := []string{"n3 pod to pod: no other pod reaches the pod of this node; 2 tried"}
	if diff := cmp.Diff(want, texts(report.Problems(rows))); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(texts(rows), "n1 pod to pod: 1 of 1") {
		t.Errorf("n1 reaches n2, and the rows are %v", texts(rows))
	}
}

// TestLatePods checks how long a probe pod may take, with and without a kubelet that knows
// of it.
func TestLatePods(t *testing.T) {
	began := time.Now()
	pods := starting{began, map[string]time.Time{}}
	pod := func(node string, known bool) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}}
		if known {
			p.Status.StartTime = &metav1.Time{Time: began}
		}
		return p
	}
	for _, step := range []struct {
		node  string
		known bool
		after time.Duration
		late  bool
	}{
		{"n1", false, 119 * time.Second, false},
		{"n2", false, 120 * time.Second, true},
		{"n1", true, 119 * time.Second, false}, // the kubelet has read it in the last moment
		{"n1", true, 178 * time.Second, false},
		{"n1", true, 179 * time.Second, true},
		{"n3", true, 0, false},
		{"n3", true, 60 * time.Second, true},
	} {
		if late := pods.isLate(pod(step.node, step.known), began.Add(step.after)); late != step.late {
			t.Errorf("%s, known %t, after %s: late %t, want %t", step.node, step.known, step.after, late, step.late)
		}
	}
}

func TestNameOutsideThatDoesNotResolveIsRetriedForShort(t *testing.T) {
	w := newFakeCluster(t, "n1", "n2")
	w.reach = func(_ string, target probe.Target, _ int) error {
		if strings.HasPrefix(target.Name, "example") {
			return errors.New("no such host")
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout/2)
	defer cancel()
	got := texts(report.Problems(Pods(ctx, w.client, options())))
	want := []string{"n1 DNS outside: 1 of 1 fail: example.org: no such host", "n2 DNS outside: 1 of 1 fail: example.org: no such host"}
	if diff := cmp.Diff(want, got); diff != "" || ctx.Err() != nil {
		t.Errorf("%s (context: %v)", diff, ctx.Err())
	}
	if w.tries["n1"] < 2 {
		t.Errorf("the probe of n1 was queried %d times, want a retry", w.tries["n1"])
	}
}

func TestPodThatDoesNotStartIsReportedAndOthersAreQueried(t *testing.T) {
	w := newFakeCluster(t, "n1", "n2")
	w.broken["n2"] = map[string]any{"phase": "Pending", "containerStatuses": []any{
		map[string]any{"name": "probe", "state": map[string]any{"waiting": map[string]any{"reason": "ErrImageNeverPull", "message": "no such image"}}},
	}}
	o := options()
	o.Outside = ""
	rows := Pods(context.Background(), w.client, o)
	want := []string{"n2 test pod: it does not become ready: ErrImageNeverPull no such image"}
	if diff := cmp.Diff(want, texts(report.Problems(rows))); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(rows, func(r report.Row) bool { return r.Host == "n1" && r.Check == "service by IP" && r.OK }) {
		t.Error("the probe of n1 was not queried")
	}
	if !slices.ContainsFunc(rows, func(r report.Row) bool { return r.Check == "DNS outside" && r.Skipped && r.OK }) {
		t.Error("the skipped check has no row")
	}
}

// TestSampleLeavesOutNodesOfNoInventory checks that a node that only the API has gets no pod.
func TestSampleLeavesOutNodesOfNoInventory(t *testing.T) {
	w := newFakeCluster(t, "n1", "n2", "lost")
	o := options()
	o.Of = []string{"n1", "n2"}
	var tested []string
	for _, r := range Pods(context.Background(), w.client, o) {
		if r.Check == "test pod" {
			tested = append(tested, r.Host)
		}
	}
	if diff := cmp.Diff([]string{"n1", "n2"}, tested); diff != "" {
		t.Errorf("nodes with a probe pod (-want +got):\n%s", diff)
	}
}

// TestNodesThatJoinAreTested checks that each node that joins has a probe pod, however small
// the sample is, and that one that is not Ready is a problem of its own.
func TestNodesThatJoinAreTested(t *testing.T) {
	w := newFakeCluster(t, "n1", "n2", "n3", "n4")
	w.api.Put("/api/v1/nodes/n4", map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n4"},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}}}})
	o := options()
	o.Nodes, o.Joining = 1, []string{"n3", "n4"}
	rows := Pods(context.Background(), w.client, o)
	var tested []string
	for _, r := range rows {
		if r.Check == "service by name" && r.OK {
			tested = append(tested, r.Host)
		}
	}
	if diff := cmp.Diff([]string{"n1", "n3"}, tested); diff != "" {
		t.Errorf("nodes with a probe pod (-want +got):\n%s", diff)
	}
	want := []string{"n4 test pod: the node is not Ready: KubeletNotReady"}
	if diff := cmp.Diff(want, texts(report.Problems(rows))); diff != "" {
		t.Error(diff)
	}
}

func TestInterruptedCheckCleansUp(t *testing.T) {
	w := newFakeCluster(t, "n1")
	ctx, cancel := context.WithCancel(context.Background())
	w.reach = func(string, probe.Target, int) error {
		cancel()
		return errors.New("x")
	}
	_ = Pods(ctx, w.client, options())
	if ctx.Err() == nil {
		t.Fatal("the check was not interrupted")
	}
	if left := w.namespaces(); left != nil {
		t.Errorf("objects left: %v", left)
	}
}

func TestNamespacesOfKilledChecksAreRemoved(t *testing.T) {
	w := newFakeCluster(t, "n1")
	for name, age := range map[string]time.Duration{"old": time.Hour, "young": time.Minute} {
		w.api.Put("/api/v1/namespaces/deployer-verify-"+name, map[string]any{
			"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{
				"name": "deployer-verify-" + name, "labels": map[string]any{kube.TestLabel: "true"},
				"creationTimestamp": time.Now().Add(-age).UTC().Format(time.RFC3339),
			},
		})
	}
	_ = Pods(context.Background(), w.client, options())
	if diff := cmp.Diff([]string{"/api/v1/namespaces/deployer-verify-young"}, w.namespaces()); diff != "" {
		t.Error(diff)
	}
}

func TestPartnersAreAllPairsUpToTenPodsAndLimitedAbove(t *testing.T) {
	for _, n := range []int{1, 2, 10, 11, 200} {
		var pods []running
		for i := range n {
			pods = append(pods, running{node: fmt.Sprintf("n%d", i), ip: fmt.Sprintf("10.244.%d.2", i)})
		}
		tried := map[string]bool{}
		for node, others := range partners(pods) {
			if n <= allPairs && len(others) != n-1 || n > allPairs && (len(others) < ringNext || len(others) > ringNext+ringRandom) {
				t.Errorf("%d pods: %s has %d partners", n, node, len(others))
			}
			for _, o := range others {
				tried[o.node] = true
				if o.node == node {
					t.Errorf("%s is its own partner", node)
				}
			}
		}
		if n > 1 && len(tried) != n {
			t.Errorf("%d of %d pods are targets", len(tried), n)
		}
	}
}

func TestSpreadPicksAtEvenDistances(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprint(i))
	}
	if diff := cmp.Diff([]string{"0", "25", "50", "75"}, spread(names, 4)); diff != "" {
		t.Error(diff)
	}
}
