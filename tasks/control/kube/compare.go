package kube

import (
	"fmt"
	"reflect"

	"github.com/aymanbagabas/go-udiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"deployer/engine"
)

// maxDiff bounds a diff in bytes; a plan with more is not read by anyone.
const maxDiff = 64 << 10

// difference compares an object as it is with what the server says an apply
// would make of it. ok is false when nothing would change.
//
// Who owns which field counts: an object that another tool made with the same
// values is taken over once, so that later removals from the manifest are
// removals from the object. When it was last written does not count.
func difference(live, applied *unstructured.Unstructured) (effect engine.Effect, ok bool) {
	target := describe(applied)
	if live == nil {
		return objectEffect(target, "create", "", applied), true
	}
	before, after := comparable(live), comparable(applied)
	if reflect.DeepEqual(before, after) {
		if reflect.DeepEqual(owners(live), owners(applied)) {
			return engine.Effect{}, false
		}
		return objectEffect(target, "take over its fields", "", applied), true
	}
	return objectEffect(target, "change", unified(target, before, after), applied), true
}

func objectEffect(target, action, diff string, o *unstructured.Unstructured) engine.Effect {
	e := engine.Effect{Kind: engine.EffectObject, Target: target, Action: action, Diff: diff}
	if o.GetKind() == "Secret" {
		e.Secret, e.Diff = true, ""
	}
	return e
}

// comparable returns the content without what the server keeps for itself.
func comparable(o *unstructured.Unstructured) map[string]any {
	content := runtime.DeepCopyJSON(o.Object)
	delete(content, "status")
	if meta, ok := content["metadata"].(map[string]any); ok {
		for _, key := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink"} {
			delete(meta, key)
		}
	}
	return content
}

// owners returns the managed fields without their times.
func owners(o *unstructured.Unstructured) []any {
	fields, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
	var out []any
	for _, f := range fields {
		entry, ok := f.(map[string]any)
		if !ok || entry["subresource"] == "status" {
			continue
		}
		delete(entry, "time")
		out = append(out, entry)
	}
	return out
}

func unified(name string, before, after map[string]any) string {
	a, errA := yaml.Marshal(before)
	b, errB := yaml.Marshal(after)
	if errA != nil || errB != nil {
		return ""
	}
	diff := udiff.Unified(name+" (now)", name+" (wanted)", string(a), string(b))
	if len(diff) > maxDiff {
		diff = diff[:maxDiff] + fmt.Sprintf("\n... %d more bytes\n", len(diff)-maxDiff)
	}
	return diff
}
