package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Verdict is the result of one case.
type Verdict struct {
	// Listed and Silent describe the differences, sorted by key. A case without either is
	// equal.
	Listed, Silent []string
}

// Equal reports whether there is no difference.
func (v Verdict) Equal() bool { return len(v.Listed)+len(v.Silent) == 0 }

// Judge compares the answers key by key. A key that only one of them has is a
// difference.
func Judge(ansible Answer, own Own) Verdict {
	var v Verdict
	keys := maps.Clone(ansible)
	maps.Copy(keys, own.Answer)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		theirs, inAnsible := ansible[key]
		ours, inDeployer := own.Answer[key]
		if inAnsible && inDeployer && (reflect.DeepEqual(canonical(theirs), canonical(ours)) || own.Same != nil && own.Same(theirs, ours)) {
			continue
		}
		text := fmt.Sprintf("%s: Ansible %s, deployer %s", key, show(theirs, inAnsible), show(ours, inDeployer))
		if own.Listed != nil && own.Listed(key, theirs, ours) {
			v.Listed = append(v.Listed, text)
		} else {
			v.Silent = append(v.Silent, text)
		}
	}
	return v
}

func show(v any, present bool) string {
	if !present {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// canonical makes values comparable: numbers become texts that tell 1 from 1.0, and
// lists and mappings have one type each.
func canonical(v any) any {
	switch t := v.(type) {
	case nil, string, bool:
		return t
	case json.Number:
		if f, err := t.Float64(); err == nil && strings.ContainsAny(t.String(), ".eE") {
			return number(floatText(f))
		}
		return number(t.String())
	case float32, float64:
		return number(floatText(reflect.ValueOf(t).Float()))
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Array:
		out := make([]any, r.Len())
		for i := range out {
			out[i] = canonical(r.Index(i).Interface())
		}
		return out
	case reflect.Map:
		out := make(map[string]any, r.Len())
		for _, k := range r.MapKeys() {
			out[fmt.Sprint(k.Interface())] = canonical(r.MapIndex(k).Interface())
		}
		return out
	}
	return number(fmt.Sprint(v))
}

// number is the text of a number; of a fraction, the shortest text of its value.
type number string

// floatText prints a float so that it differs from an integer.
func floatText(f float64) string {
	text, err := json.Marshal(f)
	if err != nil {
		return fmt.Sprint(f)
	}
	if !strings.ContainsAny(string(text), ".e") {
		return string(text) + ".0"
	}
	return string(text)
}
