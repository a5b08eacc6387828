package strictyaml

import (
	"encoding"
	"errors"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// value decodes n into v, which is addressable.
func (d *decoder) value(n *yaml.Node, v reflect.Value, at path) {
	if d.visited++; d.visited > maxNodes {
		if d.visited == maxNodes+1 {
			d.fail(n, "the document has more than %d values", maxNodes)
		}
		return
	}
	n, ok := d.resolve(n)
	if !ok {
		return
	}
	if v.Kind() == reflect.Pointer {
		d.pointer(n, v, at)
		return
	}
	k := kindOf(v.Type())
	if k == kindNode {
		v.Set(reflect.ValueOf(*n))
		return
	}
	if n.Kind != yaml.ScalarNode && !isNull(n) && !d.knownTag(n, at) {
		return
	}
	if k == kindSection {
		d.value(n, v.Addr().Interface().(section).keep(n), at)
		return
	}
	if isNull(n) && indirectKind(v, k) != reflect.Struct {
		return
	}
	if d.templated && (isTemplate(n) || k == kindUnmarshal && hasTemplate(n)) {
		return
	}
	switch k {
	case kindDuration:
		d.duration(n, v, at)
	case kindOrdered:
		d.ordered(n, v.Addr().Interface().(ordered), at, "")
	case kindUnmarshal:
		d.report(n, at, v.Addr().Interface().(yaml.Unmarshaler).UnmarshalYAML(n))
	case kindText:
		if d.isScalar(n, at, "text") {
			d.report(n, at, v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)))
		}
	default:
		d.plain(n, v, at)
	}
}

// indirectKind is the kind of a plainly decoded value; others count as
// scalars, for which null changes nothing.
func indirectKind(v reflect.Value, k kind) reflect.Kind {
	if k != kindPlain {
		return reflect.Invalid
	}
	return v.Kind()
}

// resolve follows aliases in nodes that do not come from Parse.
func (d *decoder) resolve(n *yaml.Node) (*yaml.Node, bool) {
	needed := n.Kind == yaml.AliasNode
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content) && !needed; i += 2 {
		needed = isMerge(n.Content[i]) || n.Content[i].Kind == yaml.AliasNode
	}
	if !needed {
		return n, true
	}
	out, err := expand(d.file, n)
	d.errs = append(d.errs, collect(err)...)
	return out, err == nil
}

func (d *decoder) pointer(n *yaml.Node, v reflect.Value, at path) {
	if isNull(n) {
		return
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	d.value(n, v.Elem(), at)
}

func (d *decoder) plain(n *yaml.Node, v reflect.Value, at path) {
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, v, at)
	case reflect.Map:
		d.mapping(n, v, at, "")
	case reflect.Slice:
		d.list(n, v, at)
	case reflect.Interface:
		if v.NumMethod() > 0 {
			d.fail(n, "%scannot decode into %s", at.prefix(), v.Type())
			return
		}
		if x := d.any(n, at); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	default:
		d.scalar(n, v, at)
	}
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, at path) {
	if n.Kind != yaml.SequenceNode {
		d.wrong(n, at, "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		d.value(c, out.Index(i), at.item(i))
	}
	v.Set(out)
}

// report adds the error of a type that decodes itself.
func (d *decoder) report(n *yaml.Node, at path, err error) {
	var many Errors
	var one *Error
	var types *yaml.TypeError
	switch {
	case err == nil:
	case n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle != 0:
		d.fail(n, "%sa value with a tag, which is not repeated here, does not fit", at.prefix())
	case errors.As(err, &many), errors.As(err, &one):
		for _, e := range collect(err) {
			here := *e
			if here.File == "" {
				here.File = originOf(n, d.file)
			}
			if here.Line == 0 {
				here.Line, here.Col = n.Line, n.Column
			}
			d.errs = append(d.errs, &here)
		}
	case errors.As(err, &types):
		d.fail(n, "%s%s", at.prefix(), strings.Join(types.Errors, "; "))
	default:
		d.fail(n, "%s%v", at.prefix(), err)
	}
}

func isTemplate(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "{{")
}

func hasTemplate(n *yaml.Node) bool {
	if isTemplate(n) {
		return true
	}
	for _, c := range n.Content {
		if hasTemplate(c) {
			return true
		}
	}
	return false
}
