package kube

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/control/kube/kubetest"
)

const manifests = `
# nothing in this document
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: prices, namespace: shop}
data: {tea: "3", coffee: "4"}
---
apiVersion: v1
kind: Secret
metadata: {name: till, namespace: shop}
stringData: {code: "1234"}
`

func plan(t *testing.T, c *Client, text string) []Planned {
	t.Helper()
	objects, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Plan(context.Background(), c, objects, true)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func effects(plan []Planned) (out []string) {
	for _, p := range plan {
		if p.Needed {
			out = append(out, p.Effect.Action+" "+p.Effect.Target)
		}
	}
	return out
}

func TestApplyIsIdempotent(t *testing.T) {
	api := &kubetest.API{}
	c := serve(t, api)
	first := plan(t, c, manifests)
	if diff := cmp.Diff([]string{"create Namespace shop", "create ConfigMap shop/prices", "create Secret shop/till"}, effects(first)); diff != "" {
		t.Fatal(diff)
	}
	if w := api.Writes(); len(w) != 0 {
		t.Fatalf("the plan wrote %v", w)
	}
	if err := Execute(context.Background(), c, first, true, silent); err != nil {
		t.Fatal(err)
	}
	if got := effects(plan(t, c, manifests)); got != nil {
		t.Errorf("applied twice: %v", got)
	}

	changed := plan(t, c, strings.NewReplacer(`tea: "3"`, `tea: "5"`, "1234", "9999").Replace(manifests))
	if diff := cmp.Diff([]string{"change ConfigMap shop/prices", "change Secret shop/till"}, effects(changed)); diff != "" {
		t.Error(diff)
	}
	if d := changed[1].Effect.Diff; !strings.Contains(d, "-  tea: \"3\"\n+  tea: \"5\"\n") || strings.Contains(d, "resourceVersion") {
		t.Errorf("diff:\n%s", d)
	}
	if s := changed[2].Effect; !s.Secret || s.Diff != "" {
		t.Errorf("the secret's diff is shown: %+v", s)
	}
	before := len(api.Writes())
	if err := Execute(context.Background(), c, changed, true, silent); err != nil {
		t.Fatal(err)
	}
	if n := len(api.Writes()) - before; n != 2 {
		t.Errorf("%d writes for 2 changed objects", n)
	}
}

func TestApplyTakesOverAnObjectOfAnotherToolOnce(t *testing.T) {
	api := &kubetest.API{}
	c := serve(t, api)
	api.Put("/api/v1/namespaces/shop", map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": "shop", "managedFields": []any{map[string]any{"manager": "kubectl", "operation": "Update", "time": "then"}}},
	})
	text := "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
	p := plan(t, c, text)
	if diff := cmp.Diff([]string{"take over fields Namespace shop"}, effects(p)); diff != "" {
		t.Fatal(diff)
	}
	if err := Execute(context.Background(), c, p, true, silent); err != nil {
		t.Fatal(err)
	}
	if got := effects(plan(t, c, text)); got != nil {
		t.Errorf("taken over twice: %v", got)
	}
}

func TestParseErrorsNameDocumentAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"a: b: c":                             "document 1 of the manifests",
		"---\nkind: Pod":                      "no apiVersion",
		"apiVersion: v1\nkind: Pod":           "no metadata.name",
		manifests + "---\n{apiVersion: v1}\n": "document 4 of the manifests (line 17)",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	list := "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n- {apiVersion: v1, kind: Namespace, metadata: {name: b}}\n"
	if objects, err := Parse([]byte(list)); err != nil || len(objects) != 2 {
		t.Errorf("a list: %d objects, %v", len(objects), err)
	}
}

func TestKindOutsideOfTheBuiltinOnesIsDiscoveredOnce(t *testing.T) {
	api := &kubetest.API{}
	var asked atomic.Int32
	api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/apis/example.org/v1" {
			return false
		}
		asked.Add(1)
		fmt.Fprint(w, `{"resources":[{"name":"teapots/status","kind":"Teapot","namespaced":true},{"name":"teapots","kind":"Teapot","namespaced":true}]}`)
		return true
	}
	c := serve(t, api)
	api.Put("/api/v1/namespaces/default", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "default"}})
	text := "{apiVersion: example.org/v1, kind: Teapot, metadata: {name: brown}}"
	if err := Execute(context.Background(), c, plan(t, c, text), true, silent); err != nil {
		t.Fatal(err)
	}
	if api.Object("/apis/example.org/v1/namespaces/default/teapots/brown") == nil || asked.Load() != 1 {
		t.Errorf("%d discovery requests; objects %v", asked.Load(), api.Paths())
	}
	objects, _ := Parse([]byte("{apiVersion: example.org/v1, kind: Kettle, metadata: {name: k}}"))
	if _, err := Plan(context.Background(), c, objects, true); err == nil || !strings.Contains(err.Error(), "does not know kind Kettle") {
		t.Errorf("an unknown kind: %v", err)
	}
}

func TestTransientErrorsAreRetriedOnAnotherServer(t *testing.T) {
	api := &kubetest.API{}
	var n atomic.Int32
	api.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		if n.Add(1) > 2 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	c := serve(t, api)
	moved := 0
	c.switchServer = func() { moved++ }
	if got := effects(plan(t, c, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	if moved != 2 {
		t.Errorf("switched servers %d times, want 2", moved)
	}
}

func TestForbiddenRequestIsNotRetried(t *testing.T) {
	var n atomic.Int32
	api := &kubetest.API{Before: func(w http.ResponseWriter, _ *http.Request) bool {
		n.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`)
		return true
	}}
	objects, _ := Parse([]byte("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"))
	_, err := Plan(context.Background(), serve(t, api), objects, true)
	if err == nil || n.Load() != 1 {
		t.Errorf("%d requests: %v", n.Load(), err)
	}
}

func TestDiffIsCutOffAtMaxDiff(t *testing.T) {
	var e engine.Effect
	text := strings.Repeat("line\n", 40000)
	e.Diff = unified("x", map[string]any{"a": ""}, map[string]any{"a": text})
	if len(e.Diff) > maxDiff+100 || !strings.Contains(e.Diff, "more bytes") {
		t.Errorf("%d bytes", len(e.Diff))
	}
}
