package kube

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestEmptyFieldsAreNotTakenOver: the server does not count an empty map of a manifest as owned when it makes
// the object, and does so when a controller has written entries to it.
func TestEmptyFieldsAreNotTakenOver(t *testing.T) {
	const manifest = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "annotations": {}, "labels": null},
		"spec": {"paused": false, "template": {"spec": {"nodeSelector": {}, "containers": [{"name": "web", "env": []}, {"name": "log", "resources": {}}]}}}}`
	owning := func(manager, fields string) *unstructured.Unstructured {
		return parsed(t, `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "annotations": {"revision": "1"}, "managedFields": [
			{"manager": "`+manager+`", "operation": "Apply", "time": "2026-11-28T06:00:00Z", "fieldsV1": `+fields+`}]}}`)
	}
	const created = `{"f:spec": {"f:paused": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {"f:image": {}}}}}}}`
	for name, c := range map[string]struct {
		manager, fields string
		needed          bool
	}{
		"the same":           {Manager, created, false},
		"an empty map":       {Manager, `{"f:metadata": {"f:annotations": {}}, "f:spec": {"f:paused": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {"f:image": {}}}}}}}`, false},
		"null":               {Manager, `{"f:metadata": {"f:labels": {}}, "f:spec": {"f:paused": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {"f:image": {}}}}}}}`, false},
		"empty in lists":     {Manager, `{"f:spec": {"f:paused": {}, "f:template": {"f:spec": {"f:nodeSelector": {}, "f:containers": {"k:{\"name\":\"web\"}": {"f:env": {}, "f:image": {}}, "k:{\"name\":\"log\"}": {"f:resources": {}}}}}}}`, false},
		"a field with false": {Manager, `{"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {"f:image": {}}}}}}}`, true},
		"an entry":           {Manager, `{"f:metadata": {"f:annotations": {"f:revision": {}}}, "f:spec": {"f:paused": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {"f:image": {}}}}}}}`, true},
		"of another manager": {"kubectl", created, true},
	} {
		effect, needed := difference(parsed(t, manifest), owning(Manager, created), owning(c.manager, c.fields))
		if needed != c.needed {
			t.Errorf("%s: %v %q, want %v", name, needed, effect.Action, c.needed)
		}
	}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}
