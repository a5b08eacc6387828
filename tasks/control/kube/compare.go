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

// maxDiff is the maximum length of a diff in bytes; longer diffs are cut off, so that
// plans stay readable.
const maxDiff = 64 << 10

// difference compares the live object with the result of an apply in dry run. ok is
// false when the apply would change nothing.
//
// The owners of fields count as content: deployer takes an object over that another
// tool created with the same values, so that fields which are later removed from the
// manifest are removed from the object. Times of writes are ignored.
func difference(live, applied *unstructured.Unstructured) (effect engine.Effect, ok bool) {
	target := Describe(applied)
	if live == nil {
		return ObjectEffect(target, "create", "", applied), true
	}
	before, after := comparable(live), comparable(applied)
	if reflect.DeepEqual(before, after) {
		if reflect.DeepEqual(owners(live), owners(applied)) {
			return engine.Effect{}, false
		}
		return ObjectEffect(target, "take over fields", "", applied), true
	}
	return ObjectEffect(target, "change", unified(target, before, after), applied), true
}

// ObjectEffect returns the effect of an action on an object. The effect of a Secret has no diff.
func ObjectEffect(target, action, diff string, o *unstructured.Unstructured) engine.Effect {
	e := engine.Effect{Kind: engine.EffectObject, Target: target, Action: action, Diff: diff}
	if o.GetKind() == "Secret" {
		e.Secret, e.Diff = true, ""
	}
	return e
}

// comparable returns the content without status and the metadata that the server
// writes.
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

// owners returns the managed fields without their times and without the subresource
// status.
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
