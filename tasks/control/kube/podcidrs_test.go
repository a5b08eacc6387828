package kube

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube/kubetest"
)

func resolved(t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Resolve(cluster.Spec{Name: "test"}, []cluster.Host{
		{Name: "m1", Address: "10.0.0.1", Roles: []string{cluster.RoleMaster}},
		{Name: "n1", Address: "10.0.0.2", Roles: []string{cluster.RoleMinion}},
		{Name: "n2", Address: "10.0.0.3", Roles: []string{cluster.RoleMinion}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newContext returns the context of an action in the cluster of resolved; with a nil api
// no API server responds.
func newContext(t *testing.T, api *kubetest.API) *actiontest.Context {
	t.Helper()
	ring := filledRing(t)
	s := &actiontest.Context{Name: "n1", Hosts: []string{"m1", "n1", "n2"}, Provided: engine.Services{}, Results: map[string]map[string]engine.Output{}}
	for _, name := range s.Hosts {
		s.Results[name] = map[string]engine.Output{"cni": {"files": map[string]any{}, "missing": []any{"/etc/cni/net.d/10-deployer.conflist"}}}
	}
	s.DialFunc = func(context.Context, string, string, string) (net.Conn, error) {
		return nil, errors.New("connection refused")
	}
	if api != nil {
		s.DialFunc = newMasters(t, ring, api, "m1").dial
	}
	engine.Provide(s.Provided, ring)
	engine.Provide(s.Provided, NewAccess(ring))
	engine.Provide(s.Provided, resolved(t))
	return s
}

func conflist(subnet string) engine.Output {
	text := `{"cniVersion":"1.0.0","plugins":[{"type":"bridge","ipam":{"type":"host-local","ranges":[[{"subnet":"` + subnet + `"}]]}},{"type":"portmap"}]}`
	return engine.Output{"files": map[string]any{"/etc/cni/net.d/10-deployer.conflist": text}, "missing": []any{}}
}

func TestPodCIDRsOfANewClusterDoNotWaitForTheAPI(t *testing.T) {
	began := time.Now()
	change, err := (&PodCIDRs{Found: "cni"}).Check(context.Background(), newContext(t, nil))
	if err != nil || change.Needed {
		t.Fatalf("%+v %v", change, err)
	}
	if diff := cmp.Diff(engine.Output{"m1": "10.244.0.0/24", "n1": "10.244.1.0/24", "n2": "10.244.2.0/24"}, change.Output); diff != "" {
		t.Error(diff)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("took %s", d)
	}
}

// TestPodCIDRsOfARestore: without an API, the Node objects of the snapshot keep their
// ranges, also those whose hosts no longer exist.
func TestPodCIDRsOfARestore(t *testing.T) {
	s := newContext(t, nil)
	s.Results["n1"]["restored"] = engine.Output{"pod_cidrs": map[string]any{"m1": "10.244.3.0/24", "old": "10.244.0.0/24"}}
	s.Results["n2"]["cni"] = conflist("10.244.1.0/24")
	change, err := (&PodCIDRs{Found: "cni", Snapshot: "restored"}).Check(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(engine.Output{"m1": "10.244.3.0/24", "n1": "10.244.2.0/24", "n2": "10.244.1.0/24"}, change.Output); diff != "" {
		t.Error(diff)
	}
}

func TestPodCIDRsKeepRangesOfHostsAndNodes(t *testing.T) {
	api := &kubetest.API{}
	s := newContext(t, api)
	var n corev1.Node
	n.Name, n.Spec.PodCIDR = "n2", "10.244.0.0/24"
	putNode(t, api, n)
	n.Name, n.Spec.PodCIDR = "gone", "10.244.1.0/24"
	putNode(t, api, n)
	s.Results["n1"] = map[string]engine.Output{"cni": conflist("10.244.9.0/24")}
	change, err := (&PodCIDRs{Found: "cni"}).Check(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(engine.Output{"m1": "10.244.2.0/24", "n1": "10.244.9.0/24", "n2": "10.244.0.0/24"}, change.Output); diff != "" {
		t.Error(diff)
	}
}

// TestPodCIDRsOfNodesWithoutRegisteredRange: a node in the run without registered
// network configuration is an error, as its range might be allocated twice; a node that
// the run has lost keeps its range from the API.
func TestPodCIDRsOfNodesWithoutRegisteredRange(t *testing.T) {
	for name, tt := range map[string]struct {
		registered engine.Output
		lost       bool
		want       string
	}{
		"not registered": {nil, false, `allocating pod ranges: n1 registered no network configuration as "cni"`},
		"skipped":        {engine.Output{"skipped": true}, false, "n1 registered no network configuration"},
		"failed":         {engine.Output{"failed": true}, false, "n1 registered no network configuration"},
		"lost":           {nil, true, ""},
		"registered":     {engine.Output{"files": map[string]any{}}, false, ""},
	} {
		s := newContext(t, nil)
		s.Results["n1"] = map[string]engine.Output{"cni": tt.registered}
		if tt.lost {
			s.Hosts = []string{"m1", "n2"}
		}
		_, err := (&PodCIDRs{Found: "cni"}).Check(t.Context(), s)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSubnetOf(t *testing.T) {
	for text, want := range map[string]string{
		`{"plugins":[{"ipam":{"subnet":"10.1.0.0/24"}}]}`:                                  "10.1.0.0/24",
		`{"plugins":[{"type":"x"},{"ipam":{"ranges":[[{"subnet":"fd00::/64"}]]}}]}`:        "fd00::/64",
		`{"plugins":[{"ipam":{"type":"calico-ipam"}}]}`:                                    "",
		`{"plugins":[{"ipam":{"subnet":"usePodCidr"}},{"ipam":{"subnet":"10.2.0.0/24"}}]}`: "10.2.0.0/24",
		`not json`: "",
	} {
		if got := subnetOf([]byte(text)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestNodeActionIsIdempotent(t *testing.T) {
	ctx := context.Background()
	api := &kubetest.API{}
	s := newContext(t, api)
	var n corev1.Node
	n.Name = "n1"
	putNode(t, api, n)
	action := NewNode()
	action.Labels = map[string]string{"rack": "r1"}
	action.Taints = []Taint{{Key: "only", Value: "gpu", Effect: "NoSchedule"}}
	action.PodCIDR = "10.244.1.0/24"
	change, err := action.Check(ctx, s)
	if err != nil || len(change.Effects) != 3 {
		t.Fatalf("%+v %v", change, err)
	}
	if _, err := action.Apply(ctx, s, change); err != nil {
		t.Fatal(err)
	}
	if change, err := action.Check(ctx, s); err != nil || change.Needed {
		t.Errorf("a second time: %+v %v", change, err)
	}
}

func TestApplyActionIsIdempotentAndWaitsForTheRollout(t *testing.T) {
	ctx := context.Background()
	api := &kubetest.API{}
	api.Put("/api/v1/namespaces/kube-system", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system"}})
	api.Written = func(_ string, o map[string]any) { // as a controller that rolls out immediately
		if o["kind"] == "Deployment" {
			o["status"] = map[string]any{"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
		}
	}
	s := newContext(t, api)
	action := NewApplyManifests()
	action.Content = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: coredns, namespace: kube-system}, spec: {replicas: 2}}"
	action.Wait, action.Timeout = true, 5*time.Second
	change, err := action.Check(ctx, s)
	if err != nil || !change.Needed {
		t.Fatalf("%+v %v", change, err)
	}
	if _, err := action.Apply(ctx, s, change); err != nil {
		t.Fatal(err)
	}
	if change, err := action.Check(ctx, s); err != nil || change.Needed {
		t.Errorf("a second time: %+v %v", change, err)
	}

	rolled := NewRolledOut()
	rolled.Deployments, rolled.Timeout = []string{"kube-system/coredns"}, time.Second
	if _, err := rolled.Check(ctx, s); err != nil {
		t.Error(err)
	}
	o := api.Object("/apis/apps/v1/namespaces/kube-system/deployments/coredns")
	o["spec"] = map[string]any{"replicas": 3, "selector": map[string]any{"matchLabels": map[string]any{"k8s-app": "kube-dns"}}}
	api.Written = nil
	api.Put("/apis/apps/v1/namespaces/kube-system/deployments/coredns", o)
	api.Put("/api/v1/namespaces/kube-system/pods/coredns-1", map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "coredns-1", "namespace": "kube-system", "labels": map[string]any{"k8s-app": "kube-dns"}},
		"spec":   map[string]any{"nodeName": "n1"},
		"status": map[string]any{"containerStatuses": []any{map[string]any{"name": "coredns", "state": map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}}}}},
	})
	_, err = rolled.Check(ctx, s)
	var failure *engine.Failure
	if !errors.As(err, &failure) || failure.Message != "rollout: timeout after 1s: deployment kube-system/coredns: 2 of 3 pods are of the new version" ||
		!strings.Contains(failure.Detail, "pod kube-system/coredns-1 on n1: container coredns: CrashLoopBackOff") {
		t.Errorf("got %+v", failure)
	}
}

func TestDryRunWithoutAPIReturnsEffects(t *testing.T) {
	s := newContext(t, nil)
	s.Check = true
	action := NewApplyManifests()
	action.Content = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
	change, err := action.Check(context.Background(), s)
	if err != nil || !change.Needed || !strings.Contains(change.Effects[0].Reason, "the API does not answer") {
		t.Errorf("%+v %v", change, err)
	}
	node := NewNode()
	node.Labels = map[string]string{"disk": "ssd"}
	if change, err := node.Check(context.Background(), s); err != nil || !change.Needed {
		t.Errorf("%+v %v", change, err)
	}
	// After an interrupted restore no API answers: a step that only waits announces no change.
	wait := NewNode()
	wait.Ready = true
	if change, err := wait.Check(context.Background(), s); err != nil || change.Needed {
		t.Errorf("%+v %v", change, err)
	}
	if change, err := NewAPIReady().Check(context.Background(), s); err != nil || change.Needed {
		t.Errorf("%+v %v", change, err)
	}
}

func TestOpenFailsWithoutKeys(t *testing.T) {
	s := newContext(t, nil)
	engine.Provide(s.Provided, NewAccess(&keyring.Keyring{}))
	if _, err := NewAPIReady().Check(context.Background(), s); !errors.Is(err, keyring.ErrEmpty) {
		t.Errorf("got %v", err)
	}
}
