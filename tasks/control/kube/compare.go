package kube

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
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
// manifest are removed from the object. Times of writes are ignored, and empty maps and lists of the
// manifest: the server counts `annotations: {}` as owned only when others have written annotations.
func difference(manifest, live, applied *unstructured.Unstructured) (effect engine.Effect, ok bool) {
	target := Describe(applied)
	if live == nil {
		return ObjectEffect(target, "create", "", applied), true
	}
	before, after := comparable(live), comparable(applied)
	if reflect.DeepEqual(before, after) {
		if reflect.DeepEqual(owners(live, manifest), owners(applied, manifest)) {
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

// owners returns the managed fields without their times, without the subresource status and without the
// fields that are empty in the manifest.
func owners(o, manifest *unstructured.Unstructured) []any {
	fields, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
	var out []any
	for _, f := range fields {
		entry, ok := f.(map[string]any)
		if !ok || entry["subresource"] == "status" {
			continue
		}
		delete(entry, "time")
		if owned, ok := entry["fieldsV1"].(map[string]any); ok && entry["operation"] == string(v1.ManagedFieldsOperationApply) && entry["manager"] == Manager {
			dropEmpty(owned, manifest.Object)
		}
		out = append(out, entry)
	}
	return out
}

// dropEmpty removes the fields of a set (FieldsV1) whose value is an empty map or list, or null. The elements
// of lists have keys such as `k:{"name":"web"}`.
func dropEmpty(owned map[string]any, value any) {
	for key, below := range owned {
		child, found := element(value, key)
		if !found {
			continue
		}
		fields, _ := below.(map[string]any)
		if isEmpty(child) && len(fields) == 0 {
			delete(owned, key)
			continue
		}
		before := len(fields)
		if dropEmpty(fields, child); before > 0 && len(fields) == 0 {
			delete(owned, key)
		}
	}
}

// element returns the value that a key of FieldsV1 names.
func element(value any, key string) (any, bool) {
	if name, ok := strings.CutPrefix(key, "f:"); ok {
		fields, _ := value.(map[string]any)
		child, found := fields[name]
		return child, found
	}
	text, ok := strings.CutPrefix(key, "k:")
	var names map[string]any
	if !ok || json.Unmarshal([]byte(text), &names) != nil {
		return nil, false
	}
	items, _ := value.([]any)
	at := slices.IndexFunc(items, func(item any) bool {
		fields, ok := item.(map[string]any)
		for name, want := range names {
			has, found := fields[name]
			ok = ok && (!found || fmt.Sprint(has) == fmt.Sprint(want)) // the server adds defaults to keys
		}
		return ok
	})
	if at < 0 {
		return nil, false
	}
	return items[at], true
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// Diff returns the difference of two objects as text, without the metadata that a server writes.
func Diff(before, after *unstructured.Unstructured) string {
	return unified(Describe(after), comparable(before), comparable(after))
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
