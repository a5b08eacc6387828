package addon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/addons"
	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

// files are files of add-ons by path.
type files map[string]string

func (f files) ReadFile(path string, _ int64) ([]byte, error) {
	if text, ok := f[path]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("no such file")
}

func (f files) Dir() string { return "/" }

func (f files) LookupEnv(string) (string, bool) { return "", false }

func (f files) AddSecrets([]string) {}

func (f files) ReadChart(cluster.AddonSpec) ([]byte, string, error) {
	return nil, "", addons.ErrUnfetched
}

func (f files) ReadDir(string) ([]string, error) { return nil, addons.ErrNoDirectory }

// site is a cluster with add-ons.
type site struct {
	t      *testing.T
	api    *kubetest.API
	client *kube.Client
	actx   *actiontest.Context
}

func newSite(t *testing.T) *site {
	s := &site{t: t, api: &kubetest.API{}}
	server := s.api.Start(t.Cleanup)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	var err error
	if s.client, err = kube.New(kube.Options{URL: server.URL, TLS: &tls.Config{RootCAs: roots}}); err != nil {
		t.Fatal(err)
	}
	s.api.Put("/api/v1/namespaces/kube-system", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system"}})
	s.actx = &actiontest.Context{Provided: engine.Services{}}
	return s
}

func (s *site) use(texts map[string]string) addons.Set {
	s.t.Helper()
	var specs []cluster.AddonSpec
	wait := false
	for _, name := range slices.Sorted(mapKeys(texts)) {
		specs = append(specs, cluster.AddonSpec{Name: name, Namespace: "shop", Manifests: []string{name}, Wait: &wait, Timeout: time.Minute})
	}
	set, err := addons.Read(specs, "v1.36.3", files(texts))
	if err != nil {
		s.t.Fatal(err)
	}
	engine.Provide(s.actx.Provided, &set)
	return set
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// check returns the change of an add-on.
func (s *site) check(name string) engine.Change {
	s.t.Helper()
	add, before, err := (&Apply{Name: name}).find(s.actx)
	if err != nil {
		s.t.Fatal(err)
	}
	change, err := check(s.t.Context(), s.client, add, before, s.actx)
	if err != nil {
		s.t.Fatal(err)
	}
	return change
}

// apply applies an add-on and returns the effects.
func (s *site) apply(name string) []string {
	s.t.Helper()
	change := s.check(name)
	if change.Needed {
		add, _, _ := (&Apply{Name: name}).find(s.actx)
		if err := change.CheckState.(*applyPlan).execute(s.t.Context(), s.client, add, s.actx); err != nil {
			s.t.Fatal(err)
		}
	}
	return texts(change.Effects)
}

func (s *site) remove() []string {
	s.t.Helper()
	plans, err := removals(s.t.Context(), s.client, s.actx)
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, p := range plans {
		for _, d := range p.delete {
			out = append(out, d.Effect.Target)
		}
		if err := p.execute(s.t.Context(), s.client, s.actx); err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

func texts(effects []engine.Effect) (out []string) {
	for _, e := range effects {
		action, _, _ := strings.Cut(e.Action, ":")
		out = append(out, action+" "+e.Target)
	}
	return out
}

const shop = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: till}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: prices}, data: {tea: "3"}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: till, namespace: ignored}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: stock}}
`

// TestLifeOfAnAddon applies an add-on, changes it and removes it.
func TestLifeOfAnAddon(t *testing.T) {
	s := newSite(t)
	s.use(map[string]string{"shop": shop})
	want := []string{"create Namespace shop", "create Namespace stock", "create ConfigMap shop/prices", "create ClusterRole till", "create Deployment shop/till"}
	if diff := cmp.Diff(want, s.apply("shop")); diff != "" {
		t.Error(diff)
	}
	if got := s.apply("shop"); got != nil {
		t.Errorf("again: %v", got)
	}
	if labels := s.api.Object("/api/v1/namespaces/shop")["metadata"].(map[string]any)["labels"]; labels != nil {
		t.Errorf("the namespace has the labels %v", labels)
	}

	before, _, _ := strings.Cut(shop, "---")
	s.use(map[string]string{"shop": before})
	if diff := cmp.Diff([]string{"remove ClusterRole till", "remove ConfigMap shop/prices"}, s.apply("shop")); diff != "" {
		t.Error(diff)
	}
	if w := s.actx.Warnings(); len(w) != 1 || !strings.Contains(w[0], "Namespace stock") {
		t.Errorf("warnings %q", w)
	}

	s.use(nil)
	if diff := cmp.Diff([]string{"Deployment shop/till"}, s.remove()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/api/v1/namespaces/kube-system", "/api/v1/namespaces/shop", "/api/v1/namespaces/stock"}, s.api.Paths()); diff != "" {
		t.Error(diff)
	}
	if got := s.remove(); got != nil {
		t.Errorf("again: %v", got)
	}
}

// TestRemovalInTheOppositeOrder: what an add-on handles goes before the add-on itself. A change of the
// order alone is recorded.
func TestRemovalInTheOppositeOrder(t *testing.T) {
	s := newSite(t)
	object := func(name string) string { return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}" }
	s.use(map[string]string{"b": object("b"), "c": object("c")})
	s.apply("b")
	s.apply("c")
	s.use(map[string]string{"a": object("a"), "b": object("b"), "c": object("c")})
	s.apply("a")
	for _, name := range []string{"b", "c"} {
		if diff := cmp.Diff([]string{"record what is applied add-on " + name}, s.apply(name)); diff != "" {
			t.Error(diff)
		}
	}
	s.use(nil)
	if diff := cmp.Diff([]string{"ConfigMap shop/c", "ConfigMap shop/b", "ConfigMap shop/a"}, s.remove()); diff != "" {
		t.Error(diff)
	}
}

// TestObjectsThatOthersTookOver leaves objects alone that another add-on or a person has now.
func TestObjectsThatOthersTookOver(t *testing.T) {
	s := newSite(t)
	const moved = `{apiVersion: v1, kind: ConfigMap, metadata: {name: prices}, data: {tea: "3"}}`
	s.use(map[string]string{"a": moved + "\n---\n{apiVersion: v1, kind: Secret, metadata: {name: code}}"})
	s.apply("a")
	s.use(map[string]string{"b": moved})
	s.apply("b")
	if diff := cmp.Diff([]string{"Secret shop/code"}, s.remove()); diff != "" {
		t.Error(diff)
	}
	if s.api.Object("/api/v1/namespaces/shop/configmaps/prices") == nil {
		t.Error("the object of add-on b is gone")
	}
}

// TestAKilledRunIsCompleted kills a run after its first object.
func TestAKilledRunIsCompleted(t *testing.T) {
	s := newSite(t)
	s.use(map[string]string{"shop": shop})
	ctx, kill := context.WithCancel(t.Context())
	s.api.Written = func(path string, _ map[string]any) {
		if strings.HasSuffix(path, "/configmaps/prices") {
			kill()
		}
	}
	change := s.check("shop")
	add, _, _ := (&Apply{Name: "shop"}).find(s.actx)
	if err := change.CheckState.(*applyPlan).execute(ctx, s.client, add, s.actx); err == nil {
		t.Fatal("the run was not killed")
	}
	s.api.Written = nil
	// The inventory no longer has the object that was written.
	before, _, _ := strings.Cut(shop, "---")
	s.use(map[string]string{"shop": before})
	got := s.apply("shop")
	if !slices.Contains(got, "remove ConfigMap shop/prices") || !slices.Contains(got, "complete add-on shop") {
		t.Errorf("the next run: %v", got)
	}
	if got := s.apply("shop"); got != nil {
		t.Errorf("again: %v", got)
	}
}

// TestDryRunOfANewCluster plans two add-ons of which the second needs kinds and namespaces of
// the first.
func TestDryRunOfANewCluster(t *testing.T) {
	s := newSite(t)
	s.actx.Check = true
	s.use(map[string]string{
		"a": `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tills.example.org}
spec: {group: example.org, scope: Cluster, names: {kind: Till, plural: tills}, versions: [{name: v1}]}`,
		"b": "{apiVersion: example.org/v1, kind: Till, metadata: {name: first}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: prices}}",
	})
	want := []string{"create Namespace shop", "create ConfigMap shop/prices", "create Till first"}
	if diff := cmp.Diff(want, texts(s.check("b").Effects)); diff != "" {
		t.Error(diff)
	}
	s.api.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	if change := s.check("a"); !change.Needed || !strings.Contains(change.Effects[0].Reason, "not compared") {
		t.Errorf("without an API: %+v", change)
	}
}

// operated has a program, a template of which the program makes a kind, and an object of that kind.
const operated = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: gatekeeper}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: template}}
---
{apiVersion: constraints.example.org/v1, kind: Labels, metadata: {name: owners, namespace: wrong}}
`

// TestKindsThatAProgramDefines: an object of a kind that no manifest defines is applied when the API
// serves the kind, in the scope that it has there.
func TestKindsThatAProgramDefines(t *testing.T) {
	s := newSite(t)
	s.use(map[string]string{"gatekeeper": operated})
	s.api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		defined := r.URL.Path == "/apis/constraints.example.org/v1" && s.api.Object("/api/v1/namespaces/shop/configmaps/template") != nil
		if defined {
			_, _ = io.WriteString(w, `{"resources": [{"name": "labels", "kind": "Labels", "namespaced": false}]}`)
		}
		return defined
	}
	want := []string{"create Namespace shop", "create ConfigMap shop/template", "create Deployment shop/gatekeeper", "create, when a program of the add-ons has defined its kind Labels wrong/owners"}
	if diff := cmp.Diff(want, s.apply("gatekeeper")); diff != "" {
		t.Error(diff)
	}
	if s.api.Object("/apis/constraints.example.org/v1/labels/owners") == nil {
		t.Errorf("the object of the late kind is missing among %q", s.api.Paths())
	}
	if got := s.apply("gatekeeper"); got != nil {
		t.Errorf("again: %v", got)
	}
}

// TestUnknownKinds: an object of a kind that nothing can define is refused before the first change,
// and a program that does not define its kind ends the wait with the kind's name.
func TestUnknownKinds(t *testing.T) {
	for name, text := range map[string]string{
		"no program":      "{apiVersion: constraints.example.org/v1, kind: Labels, metadata: {name: owners}}",
		"of Kubernetes":   "{apiVersion: extensions/v1beta1, kind: Ingress, metadata: {name: a}}\n---\n" + operated,
		"another version": "{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: ClusterRole, metadata: {name: a}}\n---\n" + operated,
	} {
		s := newSite(t)
		set := s.use(map[string]string{"shop": text})
		if _, err := check(t.Context(), s.client, set[0], nil, s.actx); err == nil || !kube.IsUnknownKind(err) && !strings.Contains(err.Error(), "does not know kind") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := newSite(t)
	set := s.use(map[string]string{"gatekeeper": operated})
	set[0].Timeout = time.Second
	plan := s.check("gatekeeper").CheckState.(*applyPlan)
	if err := plan.execute(t.Context(), s.client, set[0], s.actx); err == nil || !strings.Contains(err.Error(), "the API does not know kind Labels of constraints.example.org/v1") {
		t.Errorf("a kind that is never defined: %v", err)
	}
}

// TestObjectsOfTheClusterItself refuses an add-on with an object that deployer manages.
func TestObjectsOfTheClusterItself(t *testing.T) {
	s := newSite(t)
	s.api.Put("/api/v1/namespaces/shop", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}})
	s.api.Put("/api/v1/namespaces/shop/configmaps/prices", map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "prices", "namespace": "shop", "labels": map[string]any{"deployer/set": "dns"}}})
	set := s.use(map[string]string{"shop": shop})
	if _, err := check(t.Context(), s.client, set[0], nil, s.actx); err == nil || !strings.Contains(err.Error(), "take it out of the add-on") {
		t.Errorf("it was not refused: %v", err)
	}
}
