package act

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/decide"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

// newActor returns an actor with a fake API that has node n3.
func newActor(t *testing.T, s cluster.KeeperPurgeSpec) (*kubetest.API, Actor) {
	t.Helper()
	api := &kubetest.API{}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"minio", "kube-node-lease"} {
		api.Put("/api/v1/namespaces/"+name, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
	}
	api.Put("/api/v1/nodes/n3", map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n3", "uid": "u3"}, "status": ready("Unknown", away)})
	return api, Actor{Cluster: "c", Settings: cluster.KeeperSpec{Purge: s}, Kube: client, Progress: func(string) {}}
}

// away is the time since which node n3 is Unknown.
var away = time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)

func ready(status string, since time.Time) map[string]any {
	return map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "lastTransitionTime": since.Format(time.RFC3339)}}}
}

// TestChangedNode: nothing is done to a node that is not as it was when the keeper decided.
func TestChangedNode(t *testing.T) {
	const node, pod = "/api/v1/nodes/n3", "/api/v1/namespaces/minio/pods/once-0"
	clear := decide.Action{Kind: decide.ForceDelete, Object: decide.Object{APIVersion: "v1", Kind: "Pod", Namespace: "minio", Name: "once-0", UID: "p1"}, Node: purge.Node}
	mark := map[string]any{"deployer/maintenance": `{"until": "` + time.Now().Add(time.Hour).Format(time.RFC3339) + `", "by": "ann@desk"}`}
	for name, c := range map[string]struct {
		meta   map[string]any
		status map[string]any
		want   string // of the error; empty: it is done
	}{
		"as it was":        {map[string]any{"name": "n3", "uid": "u3"}, ready("Unknown", away), ""},
		"it reports again": {map[string]any{"name": "n3", "uid": "u3"}, ready("True", away.Add(time.Minute)), "is now Ready=True"},
		"it was back":      {map[string]any{"name": "n3", "uid": "u3"}, ready("Unknown", away.Add(time.Minute)), "is now Ready=Unknown"},
		"another one":      {map[string]any{"name": "n3", "uid": "u4"}, ready("Unknown", away), "another one"},
		"a mark":           {map[string]any{"name": "n3", "uid": "u3", "annotations": mark}, ready("Unknown", away), "in maintenance"},
	} {
		for path, action := range map[string]decide.Action{node: purge, pod: clear} {
			api, actor := newActor(t, cluster.KeeperPurgeSpec{})
			api.Put(node, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": c.meta, "status": c.status})
			api.Put(pod, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "minio", "name": "once-0", "uid": "p1"}})
			err := actor.Do(t.Context(), action)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: error %v, want %q", name, action.Kind, err, c.want)
			}
			if deleted := api.Object(path) == nil; deleted != (c.want == "") {
				t.Errorf("%s, %s: deleted: %t", name, action.Kind, deleted)
			}
		}
	}
}

var purge = decide.Action{Kind: decide.Purge, Object: decide.Object{APIVersion: "v1", Kind: "Node", Name: "n3"}, Node: world.Node{Name: "n3", UID: "u3", Address: "10.0.0.3", Ready: world.Unknown, Since: away}}

// TestPurge: hooks run before and after the Node is deleted, and get the node.
func TestPurge(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	var body map[string]string
	var nodeAtRequest bool
	var api *kubetest.API
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &body)
		nodeAtRequest = api.Object("/api/v1/nodes/n3") != nil
	}))
	defer hook.Close()
	script := "echo $DEPLOYER_PHASE $DEPLOYER_NODE $DEPLOYER_ADDRESS $DEPLOYER_CLUSTER >> " + said
	api, actor := newActor(t, cluster.KeeperPurgeSpec{
		PreRemove:  []cluster.KeeperHookSpec{{Name: "storage", Command: []string{"/bin/sh", "-c", script}, Timeout: time.Minute}},
		PostRemove: []cluster.KeeperHookSpec{{Name: "power", URL: hook.URL, Timeout: time.Minute}},
	})
	if err := actor.Do(t.Context(), purge); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(said); err != nil || string(text) != "pre_remove n3 10.0.0.3 c\n" {
		t.Errorf("the command said %q, %v", text, err)
	}
	if body["phase"] != "post_remove" || body["node"] != "n3" || body["address"] != "10.0.0.3" || nodeAtRequest {
		t.Errorf("the request was %v, with the Node there: %t", body, nodeAtRequest)
	}
	if api.Object("/api/v1/nodes/n3") != nil {
		t.Error("the Node is there")
	}
	if err := actor.Do(t.Context(), purge); err != nil {
		t.Errorf("a purge of a node that is gone: %v", err)
	}
}

// TestPurgeRefused: a hook that fails keeps the node.
func TestPurgeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		hook cluster.KeeperHookSpec
		want string
	}{
		"a command that fails": {cluster.KeeperHookSpec{Name: "storage", Command: []string{"/bin/sh", "-c", "exit 3"}, Timeout: time.Minute}, "exit code 3"},
		"a command that hangs": {cluster.KeeperHookSpec{Name: "storage", Command: []string{"sleep", "60"}, Timeout: 50 * time.Millisecond}, "50ms"},
		"a request refused":    {cluster.KeeperHookSpec{Name: "storage", URL: "http://127.0.0.1:1/", Timeout: time.Minute}, "refused"},
	} {
		api, actor := newActor(t, cluster.KeeperPurgeSpec{PreRemove: []cluster.KeeperHookSpec{c.hook}})
		err := actor.Do(t.Context(), purge)
		if err == nil || !strings.Contains(err.Error(), `node n3 stays: hook "storage" of pre_remove`) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if api.Object("/api/v1/nodes/n3") == nil {
			t.Errorf("%s: the Node is gone", name)
		}
	}
}

// TestScaleAndPatch: replicas and patches go to the object of the action.
func TestScaleAndPatch(t *testing.T) {
	api, actor := newActor(t, cluster.KeeperPurgeSpec{})
	actor.Settings.Scale = []cluster.ScalePolicySpec{{Patch: map[string]any{"spec": map[string]any{"minReadySeconds": 10}}}}
	const path = "/apis/apps/v1/namespaces/minio/statefulsets/minio"
	api.Put(path, map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"namespace": "minio", "name": "minio"}, "spec": map[string]any{"replicas": 1}})
	object := decide.Object{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "minio", Name: "minio"}
	for _, a := range []decide.Action{{Kind: decide.Scale, Object: object, Replicas: 3}, {Kind: decide.Patch, Object: object}} {
		if err := actor.Do(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	spec, _ := api.Object(path)["spec"].(map[string]any)
	if spec["replicas"] != 3.0 || spec["minReadySeconds"] != 10.0 {
		t.Errorf("%v", spec)
	}
}

// TestRenew: the Lease is renewed; a node that is Unknown becomes Ready again.
func TestRenew(t *testing.T) {
	api, actor := newActor(t, cluster.KeeperPurgeSpec{})
	const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n3"
	api.Put(lease, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"namespace": "kube-node-lease", "name": "n3"}})
	at := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	n := world.Node{Name: "n3", Ready: world.True, Maintenance: &world.Maintenance{Until: at.Add(time.Hour), By: "ann"}}
	if err := Renew(t.Context(), actor.Kube, n, at); err != nil {
		t.Fatal(err)
	}
	if spec, _ := api.Object(lease)["spec"].(map[string]any); spec["renewTime"] != "2026-11-28T03:00:00.000000Z" {
		t.Errorf("the Lease has %v", spec)
	}
	if slices.ContainsFunc(api.Writes(), func(w string) bool { return strings.Contains(w, "/nodes/") }) {
		t.Errorf("the status of a Ready node was written: %q", api.Writes())
	}
	n.Ready = world.Unknown
	_ = Renew(t.Context(), actor.Kube.WithRetryTimeout(-1), n, at) // the fake API has no subresources
	if !slices.ContainsFunc(api.Requests(), func(r string) bool { return r == "PATCH /api/v1/nodes/n3/status" }) {
		t.Errorf("the status of an Unknown node was not written: %q", api.Requests())
	}
}
