package convert

import (
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/ansible/jinja"
)

// Kinds is what files of variables say about the kinds of values: a translation depends on
// them, as Ansible prints True where deployer prints true.
type Kinds struct {
	kinds  map[jinja.Kind]bool
	fields map[string]*Kinds
}

// Add adds the variables of a mapping.
func (k *Kinds) Add(n *yaml.Node) {
	if k.kinds == nil {
		k.kinds = map[jinja.Kind]bool{}
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	k.kinds[nodeKind(n)] = true
	each(n, func(key, value *yaml.Node) {
		if k.fields == nil {
			k.fields = map[string]*Kinds{}
		}
		if k.fields[key.Value] == nil {
			k.fields[key.Value] = &Kinds{}
		}
		k.fields[key.Value].Add(value)
	})
}

// has reports whether a file gives the variable a value.
func (k *Kinds) has(name string) bool { return k.fields[name] != nil }

// Of returns the kind of a variable or of a field of one; unknown when the files give it
// several kinds or none.
func (k *Kinds) Of(path []string) jinja.Kind {
	for _, step := range path {
		if k = k.fields[step]; k == nil {
			return jinja.KindUnknown
		}
	}
	if len(k.kinds) != 1 {
		return jinja.KindUnknown
	}
	for kind := range k.kinds {
		return kind
	}
	return jinja.KindUnknown
}

// nodeKind returns the kind of a value as Ansible reads it.
func nodeKind(n *yaml.Node) jinja.Kind {
	switch n.Kind {
	case yaml.MappingNode:
		return jinja.KindMapping
	case yaml.SequenceNode:
		return jinja.KindList
	}
	if _, truth := truths[n.Value]; truth && n.Style == 0 {
		return jinja.KindBool
	}
	switch n.ShortTag() {
	case "!!bool":
		return jinja.KindBool
	case "!!int":
		return jinja.KindInt
	case "!!float":
		return jinja.KindFloat
	case "!!null":
		return jinja.KindNull
	}
	if strings.Contains(n.Value, "{{") || strings.Contains(n.Value, "{%") {
		return jinja.KindUnknown
	}
	return jinja.KindText
}
