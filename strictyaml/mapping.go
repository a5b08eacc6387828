package strictyaml

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// pair is a key with its value; the key is known to be a usable scalar.
type pair struct{ key, value *yaml.Node }

// pairs lists a mapping's pairs and reports keys that are no words and keys
// given twice.
func (d *decoder) pairs(n *yaml.Node, at path) []pair {
	out := make([]pair, 0, len(n.Content)/2)
	first := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind == yaml.MappingNode && key.Style&yaml.FlowStyle != 0:
			d.fail(key, "%sa value that begins with {{ needs quotes around it", at.prefix())
		case key.Kind != yaml.ScalarNode || isNull(key):
			d.fail(key, "%sa key must be a word, not %s", at.prefix(), got(key))
		case first[key.Value] != nil:
			d.fail(key, "key %q is given twice%s; first on line %d", key.Value, at.in(), first[key.Value].Line)
		default:
			first[key.Value] = key
			out = append(out, pair{key, n.Content[i+1]})
		}
	}
	return out
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, at path) {
	if n.Kind != yaml.MappingNode && !isNull(n) {
		d.wrong(n, at, "a mapping")
		return
	}
	s := shapeOf(v.Type())
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column, HeadComment: n.HeadComment}
	present := map[string]bool{}
	for _, p := range d.pairs(n, at) {
		f := s.byName[p.key.Value]
		switch {
		case f != nil:
			present[f.name] = !isNull(p.value)
			d.field(f, p.value, fieldValue(v, f.index), at.key(f.name))
		case s.rest != nil:
			rest.Content = append(rest.Content, p.key, p.value)
		default:
			d.fail(p.key, "unknown key %q%s%s", p.key.Value, at.in(), DidYouMean(p.key.Value, s.names()))
		}
	}
	if s.rest != nil && len(rest.Content) > 0 {
		d.mapping(rest, fieldValue(v, s.rest.index), at, s.rest.itemNoun)
	}
	for _, f := range s.fields {
		if f.required && !present[f.name] {
			d.fail(n, "%skey %q is required%s", at.prefix(), f.name, because(f.doc))
		}
	}
}

// because appends a doc tag to a message.
func because(doc string) string {
	if doc == "" {
		return ""
	}
	doc = strings.TrimSuffix(doc, ".")
	first, size := utf8.DecodeRuneInString(doc)
	if second, _ := utf8.DecodeRuneInString(doc[size:]); unicode.IsLower(second) || second == ' ' {
		first = unicode.ToLower(first)
	}
	return ": " + string(first) + doc[size:]
}

// field decodes the value of a struct's key, minding the tags of the field.
func (d *decoder) field(f *field, n *yaml.Node, v reflect.Value, at path) {
	if f.itemNoun != "" && !isNull(n) {
		if resolved, ok := d.resolve(n); ok {
			n = resolved
		}
		switch {
		case kindOf(v.Type()) == kindOrdered:
			d.ordered(n, v.Addr().Interface().(ordered), at, f.itemNoun)
			return
		case v.Kind() == reflect.Map:
			d.mapping(n, v, at, f.itemNoun)
			return
		}
	}
	d.value(n, v, at)
	if len(f.enum) > 0 && n.Kind == yaml.ScalarNode && !isNull(n) && !(d.templated && isTemplate(n)) {
		d.oneOf(f.enum, n, at)
	}
	if f.rule != "" {
		d.rule(f.rule, n, v, at)
	}
	if f.keyRule != "" {
		d.ruleOfKeys(f.keyRule, n, at)
	}
	if f.limits != nil {
		d.within(f.limits, n, v, at)
	}
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, at path, each string) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, at, "a mapping")
		return
	}
	t := v.Type()
	if t.Key().Kind() != reflect.String {
		d.fail(n, "%scannot decode into %s", at.prefix(), t)
		return
	}
	out := reflect.MakeMapWithSize(t, len(n.Content)/2)
	for _, p := range d.pairs(n, at) {
		elem := reflect.New(t.Elem()).Elem()
		d.value(p.value, elem, at.entry(each, p.key.Value))
		out.SetMapIndex(reflect.ValueOf(p.key.Value).Convert(t.Key()), elem)
	}
	v.Set(out)
}

func (d *decoder) ordered(n *yaml.Node, m ordered, at path, each string) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, at, "a mapping")
		return
	}
	pairs := d.pairs(n, at)
	m.reset(len(pairs))
	for _, p := range pairs {
		d.value(p.value, m.put(d.file, p.key), at.entry(each, p.key.Value))
	}
}
