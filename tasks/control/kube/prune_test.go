package kube

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/control/kube/kubetest"
)

// TestApplyRemovesUnlistedObjectsOfTheSet applies three versions of a set's manifests.
// Namespaces and the objects of other sets, other tools and controllers stay, and so does
// an object that another tool has made with the labels of the set.
func TestApplyRemovesUnlistedObjectsOfTheSet(t *testing.T) {
	ctx := context.Background()
	api := &kubetest.API{}
	c := serve(t, api)
	run := func(set, text string) []string {
		t.Helper()
		objects, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		Label(objects, set)
		plan, err := Plan(ctx, c, objects, true)
		if err != nil {
			t.Fatal(err)
		}
		more, err := Unlisted(ctx, c, set, objects)
		if err != nil {
			t.Fatal(err)
		}
		plan = append(plan, more...)
		if err := Execute(ctx, c, plan, true, silent); err != nil {
			t.Fatal(err)
		}
		return effects(plan)
	}
	labels := func(set string) map[string]any {
		return map[string]any{"app.kubernetes.io/managed-by": "deployer", "deployer/set": set}
	}
	run("shop", manifests+"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: opening, namespace: shop}}\n")
	run("other", "{apiVersion: v1, kind: ConfigMap, metadata: {name: others, namespace: shop}}")
	api.Put("/api/v1/namespaces/shop/configmaps/users", map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "users", "namespace": "shop", "labels": map[string]any{"deployer/set": "shop"}}})
	api.Put("/api/v1/namespaces/shop/configmaps/made", map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "made", "namespace": "shop", "labels": labels("shop"),
			"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "Thing", "name": "x", "uid": "1"}}}})
	api.Put("/api/v1/namespaces/shop/services/exposed", map[string]any{"apiVersion": "v1", "kind": "Service", // by kubectl expose
		"metadata": map[string]any{"name": "exposed", "namespace": "shop", "labels": labels("shop"),
			"managedFields": []any{map[string]any{"manager": "kubectl-expose", "operation": "Update"}}}})

	got := run("shop", "{apiVersion: v1, kind: ConfigMap, metadata: {name: prices, namespace: shop}, data: {tea: \"3\", coffee: \"4\"}}")
	want := []string{"remove: the manifests no longer contain it ConfigMap shop/opening", "remove: the manifests no longer contain it Secret shop/till"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	left := []string{"/api/v1/namespaces/shop", "/api/v1/namespaces/shop/configmaps/made", "/api/v1/namespaces/shop/configmaps/others",
		"/api/v1/namespaces/shop/configmaps/prices", "/api/v1/namespaces/shop/configmaps/users", "/api/v1/namespaces/shop/services/exposed"}
	if diff := cmp.Diff(left, api.Paths()); diff != "" {
		t.Error(diff)
	}
	if got := run("shop", "{apiVersion: v1, kind: ConfigMap, metadata: {name: prices, namespace: shop}, data: {tea: \"3\", coffee: \"4\"}}"); got != nil {
		t.Errorf("again: %v", got)
	}
	if got := run("shop", manifests); !slices.Contains(got, "create Secret shop/till") {
		t.Errorf("back: %v", got)
	}
}

// TestDryRunRepeatsAListThatFails checks that a dry run goes on when the API has answered
// and one list of objects fails for a moment.
func TestDryRunRepeatsAListThatFails(t *testing.T) {
	var failed atomic.Bool // lists are read side by side
	api := &kubetest.API{}
	api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !r.URL.Query().Has("labelSelector") || failed.Swap(true) {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	s := newContext(t, api)
	s.Check = true
	action := NewApplyManifests()
	action.Set, action.Content = "shop", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
	change, err := action.Check(t.Context(), s)
	if err != nil || !change.Needed || !failed.Load() {
		t.Errorf("%+v, %v, a list has failed: %t", change, err, failed.Load())
	}
}

// TestEmptyManifestsRemoveASet: without allow_empty they are a mistake.
func TestEmptyManifestsRemoveASet(t *testing.T) {
	api := &kubetest.API{}
	s := newContext(t, api)
	apply := func(content string, allowed bool) (int, error) {
		t.Helper()
		action := NewApplyManifests()
		action.Set, action.Content, action.Empty = "shop", content, allowed
		change, err := action.Check(t.Context(), s)
		if err != nil {
			return 0, err
		}
		_, err = action.Apply(t.Context(), s, change)
		return len(change.Effects), err
	}
	if _, err := apply(manifests, false); err != nil {
		t.Fatal(err)
	}
	if _, err := apply("# none", false); err == nil || err.Error() != "the manifests contain no object" {
		t.Errorf("%v", err)
	}
	if n, err := apply("# none", true); err != nil || n != 2 {
		t.Errorf("%d effects, %v", n, err)
	}
	if n, err := apply("# none", true); err != nil || n != 0 {
		t.Errorf("again: %d effects, %v", n, err)
	}
	if diff := cmp.Diff([]string{"/api/v1/namespaces/shop"}, api.Paths()); diff != "" {
		t.Error(diff)
	}
	if err := (&ApplyManifests{Content: "# none", Empty: true}).Valid(); err == nil {
		t.Error("allow_empty without a set")
	}
}

func TestNodeActionDeletesAnAbsentNode(t *testing.T) {
	api := &kubetest.API{}
	c := serve(t, api)
	api.Put("/api/v1/nodes/n1", map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n1"}})
	api.Put("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": "n1", "namespace": "kube-node-lease"}})
	n := &Node{Absent: true}
	change, err := n.checkAbsent(t.Context(), c, "n1")
	if err != nil || !change.Needed || len(change.Effects) != 2 {
		t.Fatalf("%+v, %v", change, err)
	}
	for range 2 {
		if err := deleteNode(t.Context(), c, "n1"); err != nil {
			t.Fatal(err)
		}
	}
	if change, err := n.checkAbsent(t.Context(), c, "n1"); err != nil || change.Needed {
		t.Errorf("again: %+v, %v", change, err)
	}
	if (&Node{Absent: true, Ready: true}).Valid() == nil {
		t.Error("absent and ready are accepted together")
	}
}
