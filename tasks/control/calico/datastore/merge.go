package datastore

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// merge returns an object with the fields of the wanted one, and whether it differs from the present one.
// have is nil when there is none. Fields of spec that deployer set before and the wanted object does not
// have are removed; all others stay.
func merge(have, want *unstructured.Unstructured) (next *unstructured.Unstructured, changed bool, err error) {
	wanted, _, err := unstructured.NestedMap(want.Object, "spec")
	if err != nil {
		return nil, false, err
	}
	fields := strings.Join(slices.Sorted(maps.Keys(wanted)), ",")
	if have == nil {
		next = want.DeepCopy()
		next.SetAnnotations(map[string]string{ownFields: fields})
		return next, true, nil
	}
	spec, _, err := unstructured.NestedMap(have.Object, "spec")
	if err != nil {
		return nil, false, err
	}
	present := map[string]any{}
	for field := range wanted {
		present[field] = spec[field]
	}
	labels := maps.Clone(have.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, want.GetLabels())
	former := have.GetAnnotations()[ownFields]
	changed = former != fields || !maps.Equal(labels, have.GetLabels()) || !reflect.DeepEqual(withoutZeros(wanted), withoutZeros(present))

	next = have.DeepCopy()
	if spec == nil {
		spec = map[string]any{}
	}
	for field := range strings.SplitSeq(former, ",") {
		delete(spec, field)
	}
	maps.Copy(spec, wanted)
	annotations := maps.Clone(next.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ownFields] = fields
	next.SetLabels(labels)
	next.SetAnnotations(annotations)
	next.Object["spec"] = spec
	return next, changed, nil
}

// withoutZeros returns a value without fields that are false, 0, empty or null, with whole numbers as int64. A program of Calico that
// changes an object writes all of it again, leaves such fields out, and adds others, by the types of its
// fields. The annotation shows that deployer has set them.
func withoutZeros(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, one := range v {
			if one = withoutZeros(one); one != nil {
				out[key] = one
			}
		}
		if len(out) > 0 {
			return out
		}
	case []any:
		var out []any
		for _, one := range v {
			out = append(out, withoutZeros(one))
		}
		if len(out) > 0 {
			return out
		}
	case float64: // of a manifest
		if n := int64(v); float64(n) == v {
			return withoutZeros(n)
		}
		return v
	default:
		if v != nil && !reflect.ValueOf(v).IsZero() {
			return v
		}
	}
	return nil
}

// integers returns a decoded value with its numbers as int64, or float64 where they have a fraction, in the
// form in which unstructured objects have them.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			v[key] = integers(one)
		}
	case []any:
		for i, one := range v {
			v[i] = integers(one)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}
