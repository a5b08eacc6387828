package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Decode decodes node into `into`, a pointer. Absent and null keys leave their
// fields unchanged, so defaults can be set first. The error, of type Errors, has all
// problems of the document; valid values are decoded all the same. file is only used
// in messages. A nil node counts as empty.
func Decode(file string, node *yaml.Node, into any) error {
	return newDecoder(file, false).run(node, reflect.ValueOf(into), path{})
}

// DecodeAs is Decode for a part of a document; what names the part in messages, for
// example "host m1".
func DecodeAs(file, what string, node *yaml.Node, into any) error {
	return newDecoder(file, false).run(node, reflect.ValueOf(into), path{of: what})
}

// CheckKeys reports the errors of Decode, without changing into, for a node whose
// strings may be templates: a string that contains "{{" fits anywhere, because its
// value is not known yet.
func CheckKeys(file string, node *yaml.Node, into any) error {
	t := indirect(reflect.TypeOf(into))
	return newDecoder(file, true).run(node, reflect.New(t), path{})
}

type decoder struct {
	file      string
	templated bool
	visited   int
	errs      Errors
}

func newDecoder(file string, templated bool) *decoder {
	return &decoder{file: file, templated: templated}
}

func (d *decoder) run(n *yaml.Node, into reflect.Value, at path) error {
	if into.Kind() != reflect.Pointer || into.IsNil() {
		return fmt.Errorf("decoding YAML into %s: want a pointer", into.Type())
	}
	if n == nil {
		n = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	d.value(content(n), into.Elem(), at)
	return d.errs.orNil()
}

func (d *decoder) fail(n *yaml.Node, format string, args ...any) {
	d.errs = append(d.errs, At(d.file, n).Errorf(format, args...))
}

// wrong reports a value of the wrong type.
func (d *decoder) wrong(n *yaml.Node, at path, want string) {
	d.fail(n, "%swant %s, got %s%s", at.prefix(), want, got(n), written(n, want))
}

// written returns a hint for values that are written differently here: yes and no,
// or a number of seconds.
func written(n *yaml.Node, want string) string {
	seconds, err := strconv.ParseUint(n.Value, 10, 31)
	switch {
	case n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0:
	case strings.HasPrefix(want, "a duration") && err == nil:
		return fmt.Sprintf("; write %ds", seconds)
	case want != "true or false":
	case slices.Contains([]string{"yes", "on", "y"}, strings.ToLower(n.Value)):
		return "; write true"
	case slices.Contains([]string{"no", "off", "n"}, strings.ToLower(n.Value)):
		return "; write false"
	}
	return ""
}

// got describes a node for messages. got does not repeat values with an explicit tag,
// which may be secrets.
func got(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	case n.Style&yaml.TaggedStyle != 0:
		return "a value with a tag"
	}
	text := []rune(n.Value)
	if len(text) > 60 {
		text = append(text[:60], '…')
	}
	return fmt.Sprintf("%q", string(text))
}

// path names a value in messages: a dotted path, below an item with a name.
type path struct{ path, of string }

func (w path) key(name string) path {
	if w.path != "" {
		name = w.path + "." + name
	}
	return path{name, w.of}
}

// entry returns the path of a value of a map; itemNoun is the noun of its items.
func (w path) entry(each, key string) path {
	if each == "" {
		return w.key(key)
	}
	return path{of: each + " " + key}
}

func (w path) item(i int) path { return path{fmt.Sprintf("%s[%d]", w.path, i), w.of} }

func (w path) prefix() string {
	if s := w.text(); s != "" {
		return s + ": "
	}
	return ""
}

func (w path) in() string {
	if s := w.text(); s != "" {
		return " in " + s
	}
	return ""
}

func (w path) text() string {
	if w.path != "" && w.of != "" {
		return w.path + " of " + w.of
	}
	return w.path + w.of
}
