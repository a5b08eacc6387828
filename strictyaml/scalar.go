package strictyaml

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// isScalar reports whether n is a scalar with a known tag, and adds an error when it is not.
func (d *decoder) isScalar(n *yaml.Node, at path, want string) bool {
	if n.Kind != yaml.ScalarNode {
		d.wrong(n, at, want)
		return false
	}
	return d.knownTag(n, at)
}

func (d *decoder) knownTag(n *yaml.Node, at path) bool {
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!map", "!!seq", "!!merge":
		return true
	}
	d.fail(n, "%stag %s is not known here", at.prefix(), n.ShortTag())
	return false
}

func (d *decoder) oneOf(enum []string, n *yaml.Node, at path) {
	if !slices.Contains(enum, n.Value) {
		d.fail(n, "%swant one of %s, got %s%s", at.prefix(), strings.Join(enum, ", "), got(n), suggestion(n, enum))
	}
}

func suggestion(n *yaml.Node, enum []string) string {
	if s := Suggest(n.Value, enum); s != "" {
		return "; did you mean \"" + s + "\"?"
	}
	return ""
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, at path) {
	switch v.Kind() {
	case reflect.String:
		// Numbers and words such as true keep their spelling, so that
		// `version: 1.10` and `mode: 0644` are the texts 1.10 and 0644.
		if d.isScalar(n, at, "text") {
			v.SetString(n.Value)
		}
	case reflect.Bool:
		var b bool
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
			d.wrong(n, at, "true or false")
			return
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		var i int64
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&i) != nil {
			d.wrong(n, at, "a whole number")
		} else if v.OverflowInt(i) {
			d.wrong(n, at, "a smaller whole number")
		} else {
			v.SetInt(i)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		var u uint64
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || strings.HasPrefix(n.Value, "-") || n.Decode(&u) != nil {
			d.wrong(n, at, "a whole number that is not negative")
		} else if v.OverflowUint(u) {
			d.wrong(n, at, "a smaller whole number")
		} else {
			v.SetUint(u)
		}
	case reflect.Float32, reflect.Float64:
		d.float(n, v, at)
	default:
		d.fail(n, "%scannot decode into %s", at.prefix(), v.Type())
	}
}

func (d *decoder) float(n *yaml.Node, v reflect.Value, at path) {
	var f float64
	number := n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!int" || n.ShortTag() == "!!float")
	if !number || n.Decode(&f) != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		d.wrong(n, at, "a number")
		return
	}
	v.SetFloat(f)
}

func (d *decoder) duration(n *yaml.Node, v reflect.Value, at path) {
	if !d.isScalar(n, at, "a duration such as 10s") {
		return
	}
	t, err := time.ParseDuration(n.Value) // takes a bare 0, but no other bare number
	if err != nil {
		d.wrong(n, at, "a duration such as 500ms, 10s or 1h30m")
		return
	}
	v.SetInt(int64(t))
}

// any decodes a free value into the types of JSON: map[string]any, []any, string,
// bool, int (int64 and uint64 where an int is too small), float64 or nil.
// Dates stay text.
func (d *decoder) any(n *yaml.Node, at path) any {
	switch n.Kind {
	case yaml.MappingNode:
		var out map[string]any
		d.mapping(n, reflect.ValueOf(&out).Elem(), at, "")
		return out
	case yaml.SequenceNode:
		var out []any
		d.list(n, reflect.ValueOf(&out).Elem(), at)
		return out
	}
	if !d.knownTag(n, at) {
		return nil
	}
	var out any
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		if err := n.Decode(&out); err != nil {
			d.wrong(n, at, "a value")
			return nil
		}
	default:
		return n.Value
	}
	if f, ok := out.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		d.wrong(n, at, "a finite number")
		return nil
	}
	return out
}
