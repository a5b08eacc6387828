package addon

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/addons"
	"deployer/engine"
	"deployer/tasks/control/kube"
)

// job returns a hook that is a Job.
func job(name string, weight int, policies string, events ...string) addons.Hook {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": name}}}
	return addons.Hook{Object: o, Events: events, Weight: weight, Delete: strings.Fields(policies)}
}

// charted provides one add-on with hooks and a ConfigMap.
func (s *site) charted(digest string, hooks ...addons.Hook) {
	s.t.Helper()
	objects, err := kube.Parse([]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: prices}, data: {digest: " + digest + "}}"))
	if err != nil {
		s.t.Fatal(err)
	}
	engine.Provide(s.actx.Provided, &addons.Set{{Name: "shop", Namespace: "shop", Timeout: time.Minute, Objects: objects, Hooks: hooks, Digest: digest}})
}

// jobsEnd lets each Job end at once; those with the word bad in their names fail.
func (s *site) jobsEnd() {
	s.api.Written = func(path string, o map[string]any) {
		if !strings.Contains(path, "/jobs/") {
			return
		}
		condition := "Complete"
		if strings.Contains(path, "bad") {
			condition = "Failed"
		}
		o["status"] = map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True", "reason": "BackoffLimitExceeded", "message": "too often"}}}
	}
}

// since returns the writes after a number of them, without the records.
func (s *site) since(n int) (out []string) {
	for _, w := range s.api.Writes()[n:] {
		method, path, _ := strings.Cut(w, " ")
		if !strings.Contains(path, "deployer.addon.") {
			out = append(out, method+" "+path[strings.LastIndex(path, "/")+1:])
		}
	}
	return out
}

func TestHooksOfAChart(t *testing.T) {
	s := newSite(t)
	s.jobsEnd()
	hooks := []addons.Hook{
		job("after", 0, "", addons.PostInstall, addons.PostUpgrade),
		job("second", 5, "hook-succeeded", addons.PreInstall),
		job("first", -5, "before-hook-creation hook-succeeded", addons.PreInstall, addons.PreUpgrade),
		job("farewell", 0, "hook-succeeded", addons.PreDelete), job("gone", 0, "hook-succeeded", addons.PostDelete),
	}
	s.charted("one", hooks...)
	want := []string{"create Namespace shop", "create ConfigMap shop/prices", "run hook pre-install Job shop/first", "run hook pre-install Job shop/second", "run hook post-install Job shop/after"}
	if diff := cmp.Diff(want, s.apply("shop")); diff != "" {
		t.Error(diff)
	}
	want = []string{"PATCH shop", "PATCH first", "PATCH second", "DELETE first", "DELETE second", "PATCH prices", "PATCH after"}
	if diff := cmp.Diff(want, s.since(0)); diff != "" {
		t.Error(diff)
	}
	if got := s.apply("shop"); got != nil {
		t.Errorf("again: %v", got)
	}

	// Somebody changes an object: it is restored, and that is no upgrade.
	s.api.Put("/api/v1/namespaces/shop/configmaps/prices", map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "prices", "namespace": "shop", "labels": map[string]any{"deployer/addon": "shop"}}, "data": map[string]any{"digest": "x"}})
	if diff := cmp.Diff([]string{"change ConfigMap shop/prices"}, s.apply("shop")); diff != "" {
		t.Error(diff)
	}

	n := len(s.api.Writes())
	s.charted("two", hooks...)
	s.apply("shop")
	if diff := cmp.Diff([]string{"PATCH first", "DELETE first", "PATCH prices", "DELETE after", "PATCH after"}, s.since(n)); diff != "" {
		t.Error(diff)
	}

	n = len(s.api.Writes())
	s.use(nil)
	s.remove()
	if diff := cmp.Diff([]string{"PATCH farewell", "DELETE farewell", "DELETE prices", "PATCH gone", "DELETE gone"}, s.since(n)); diff != "" {
		t.Error(diff)
	}
}

// TestAHookThatFails ends the run before the objects change, and runs again in the next run.
func TestAHookThatFails(t *testing.T) {
	s := newSite(t)
	s.jobsEnd()
	s.charted("one", job("bad", 0, "hook-failed", addons.PreInstall))
	change := s.check("shop")
	add, _, _ := (&Apply{Name: "shop"}).find(s.actx)
	err := change.CheckState.(*applyPlan).execute(t.Context(), s.client, add, s.actx)
	if err == nil || !strings.Contains(err.Error(), "hook pre-install, Job shop/bad: it failed: BackoffLimitExceeded: too often") {
		t.Errorf("the error is %v", err)
	}
	if w := s.since(0); !slices.Contains(w, "DELETE bad") || slices.Contains(w, "PATCH prices") {
		t.Errorf("writes %v", w)
	}
	s.charted("one", job("good", 0, "", addons.PreInstall))
	if got := s.apply("shop"); !slices.Contains(got, "run hook pre-install Job shop/good") || !slices.Contains(got, "complete add-on shop") {
		t.Errorf("the next run: %v", got)
	}
}

// TestAHookThatTheAPIRefuses ends the run before its first change, although it would run years later.
func TestAHookThatTheAPIRefuses(t *testing.T) {
	s := newSite(t)
	s.jobsEnd()
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "farewell"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": "shop"}},
	}}
	invalid := true
	s.api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if !invalid || r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/farewell") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422, "message": "subjects[0].name: Required value"}`))
		return true
	}
	s.charted("one", addons.Hook{Object: binding, Events: []string{addons.PreDelete}})
	add, before, _ := (&Apply{Name: "shop"}).find(s.actx)
	_, err := planOf(t.Context(), s.client, add, before)
	if err == nil || !strings.Contains(err.Error(), "hook pre-delete, ClusterRoleBinding farewell: subjects[0].name: Required value; correct the values of the chart") {
		t.Errorf("the error is %v", err)
	}
	if w := s.api.Writes(); len(w) > 0 {
		t.Errorf("writes %v", w)
	}
	invalid = false
	s.apply("shop")
	invalid = true // it has been accepted, and the add-on does not change
	if got := s.apply("shop"); got != nil {
		t.Errorf("again: %v", got)
	}
}
