package verify

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/cluster"
	"deployer/tasks/control/report"
)

func TestClusterRows(t *testing.T) {
	c, err := cluster.Resolve(cluster.Spec{Name: "test"}, []cluster.Host{
		{Name: "n1", Address: "10.0.0.1", Roles: []string{cluster.RoleMaster}},
		{Name: "n2", Address: "10.0.0.2", Roles: []string{cluster.RoleMinion}},
		{Name: "n3", Address: "10.0.0.3", Roles: []string{cluster.RoleMinion}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newFakeCluster(t, "n1", "n2", "extra")
	young := w.api.Object("/api/v1/nodes/n2")
	young["metadata"].(map[string]any)["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	w.api.Put("/api/v1/nodes/n2", young)
	pod := func(name string, ready string) {
		w.api.Put("/api/v1/namespaces/kube-system/pods/"+name, map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "kube-system"},
			"status": map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": ready, "message": "probe failed"}}},
		})
	}
	for _, name := range []string{"kube-controller-manager-n1", "kube-proxy-n2", "kube-proxy-n3", "api-proxy-n3"} {
		pod(name, "True")
	}
	pod("kube-proxy-n2", "False")
	unreported := func(name string, created time.Time) {
		w.api.Put("/api/v1/namespaces/kube-system/pods/"+name, map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "kube-system", "creationTimestamp": created.UTC().Format(time.RFC3339)},
			"status": map[string]any{"phase": "Pending"},
		})
	}
	unreported("api-proxy-n2", time.Now().Add(-time.Hour))      // its node is new: the kubelet may not have reported it yet
	unreported("kube-apiserver-n1", time.Now().Add(-time.Hour)) // its node is old
	unreported("kube-controller-manager-n1", time.Now())        // it was just replaced
	w.api.Put("/api/v1/namespaces/kube-system/pods/kube-scheduler-n1", map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "kube-scheduler-n1", "namespace": "kube-system"},
		"status": map[string]any{"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: Node didn't have enough resource: cpu"},
	})
	w.api.Put("/apis/apps/v1/namespaces/kube-system/deployments/coredns", map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "coredns", "namespace": "kube-system"},
		"spec":   map[string]any{"replicas": 2},
		"status": map[string]any{"replicas": 2, "updatedReplicas": 2, "availableReplicas": 1},
	})
	rows := Cluster(context.Background(), w.client, c)
	if !slices.ContainsFunc(rows, func(r report.Row) bool { return r.Host == "n2" && r.Check == "api-proxy" && r.Skipped }) {
		t.Error("a missing static pod of a new node is not skipped")
	}
	got := texts(report.Problems(rows))
	want := []string{
		"n3 node: there is no such node",
		`n1 kube-apiserver: not Ready: phase "Pending" `,
		"n1 kube-scheduler: the kubelet has refused it: OutOfcpu Pod was rejected: Node didn't have enough resource: cpu",
		"n1 kube-proxy: it does not run",
		"n2 kube-proxy: not Ready: probe failed",
		"deployment coredns: 1 of 2 pods available",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPIThatIsNotReadyGetsNoOtherRequest(t *testing.T) {
	w := newFakeCluster(t, "n1")
	asked := 0
	w.api.Before = func(rw http.ResponseWriter, _ *http.Request) bool {
		asked++
		rw.WriteHeader(http.StatusInternalServerError)
		_, _ = rw.Write([]byte("[+]ping ok\n[-]etcd failed: reason withheld\n"))
		return true
	}
	want := []string{"Kubernetes API: /readyz returns 500, failing checks: etcd"}
	if diff := cmp.Diff(want, texts(Cluster(context.Background(), w.client, nil))); diff != "" {
		t.Error(diff)
	}
	want = []string{"test pods: /readyz returns 500, failing checks: etcd"}
	if diff := cmp.Diff(want, texts(Pods(context.Background(), w.client, options()))); diff != "" || asked != 2 {
		t.Errorf("%d requests: %s", asked, diff)
	}
}

// TestAwaitReports: a check waits for a static pod that a Ready node has not reported, and for
// no pod of a node that is not Ready.
func TestAwaitReports(t *testing.T) {
	t.Parallel()
	lost, begun := report.Bad("kube-apiserver", "m2", missing), report.Bad("kube-apiserver", "m2", "%s; 1 restarts", justStarted)
	for name, test := range map[string]struct {
		node, late   report.Row
		within       time.Duration
		checks, want int
	}{
		"reported late":   {report.OK("node", "m2", "Ready"), lost, time.Minute, 2, 0},
		"just started":    {report.OK("node", "m2", "Ready"), begun, time.Minute, 2, 0},
		"crashes":         {report.OK("node", "m2", "Ready"), report.Bad("kube-apiserver", "m2", "not Ready: CrashLoopBackOff"), time.Minute, 1, 1},
		"not in time":     {report.OK("node", "m2", "Ready"), lost, 0, 1, 1},
		"not Ready":       {report.Bad("node", "m2", "not Ready"), lost, time.Minute, 1, 2},
		"not a node here": {report.Skip("node", "m2", "not in the inventory"), lost, time.Minute, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks := 0
			rows, err := awaitReports(t.Context(), test.within, func() []report.Row {
				if checks++; checks > 1 {
					return []report.Row{test.node}
				}
				return []report.Row{test.node, test.late}
			})
			if got := len(report.Problems(rows)); err != nil || got != test.want || checks != test.checks {
				t.Errorf("%d problems after %d checks, %v; want %d after %d", got, checks, err, test.want, test.checks)
			}
		})
	}
}

// TestPodsThatHaveJustStarted checks which pods that are not Ready may soon be.
func TestPodsThatHaveJustStarted(t *testing.T) {
	now := time.Now()
	container := func(started bool, ago time.Duration) corev1.ContainerStatus {
		return corev1.ContainerStatus{Started: &started, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: now.Add(-ago)}}}}
	}
	crashed := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
	for name, test := range map[string]struct {
		containers []corev1.ContainerStatus
		want       bool
	}{
		"its startup probe has not passed": {[]corev1.ContainerStatus{container(false, time.Hour)}, true},
		"its readiness is not reported":    {[]corev1.ContainerStatus{container(true, 29*time.Second)}, true},
		"it became unready later":          {[]corev1.ContainerStatus{container(true, 30*time.Second)}, false},
		"one of two is new":                {[]corev1.ContainerStatus{container(true, time.Hour), container(false, 0)}, true},
		"one of two has crashed":           {[]corev1.ContainerStatus{container(false, 0), crashed}, false},
		"it has no containers yet":         {nil, false},
	} {
		if got := hasJustStarted(&corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: test.containers}}, now); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
