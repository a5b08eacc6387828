package importer

import (
	"maps"
	"slices"

	"gopkg.in/yaml.v3"
)

// mapping is a YAML mapping that keeps its keys in the order of insertion.
type mapping struct{ node yaml.Node }

func (m *mapping) find(key string) int {
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		if m.node.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// set sets the value of a key; an empty mapping is left out.
func (m *mapping) set(key string, v any) {
	if sub, ok := v.(*mapping); ok && sub.empty() {
		return
	}
	m.put(key, v)
}

// put sets the value of a key, an empty mapping too, such as a host without settings.
func (m *mapping) put(key string, v any) {
	n := encode(v)
	if i := m.find(key); i >= 0 {
		m.node.Content[i+1] = n
		return
	}
	m.node.Kind, m.node.Tag = yaml.MappingNode, "!!map"
	m.node.Content = append(m.node.Content, encode(key), n)
}

// setPath sets a nested value and creates the mappings of its path.
func (m *mapping) setPath(path []string, v any) {
	if len(path) == 1 {
		m.set(path[0], v)
		return
	}
	i := m.find(path[0])
	if i < 0 || m.node.Content[i+1].Kind != yaml.MappingNode {
		sub := &mapping{}
		sub.setPath(path[1:], v)
		m.set(path[0], sub)
		return
	}
	sub := &mapping{node: *m.node.Content[i+1]}
	sub.setPath(path[1:], v)
	m.node.Content[i+1] = &sub.node
}

// remove removes a nested value, if it is there.
func (m *mapping) remove(path ...string) {
	i := m.find(path[0])
	switch {
	case i < 0:
	case len(path) == 1:
		m.node.Content = slices.Delete(m.node.Content, i, i+2)
	default:
		sub := &mapping{node: *m.node.Content[i+1]}
		sub.remove(path[1:]...)
		m.node.Content[i+1] = &sub.node
		if sub.empty() {
			m.remove(path[0])
		}
	}
}

// text returns the text at a path; empty when there is none.
func (m *mapping) text(path ...string) string {
	n := &m.node
	for _, key := range path {
		i := (&mapping{node: *n}).find(key)
		if i < 0 {
			return ""
		}
		n = n.Content[i+1]
	}
	return n.Value
}

func (m *mapping) empty() bool { return len(m.node.Content) == 0 }

// flow makes the mapping print on one line, and returns it.
func (m *mapping) flow() *mapping {
	m.node.Style = yaml.FlowStyle
	return m
}

func encode(v any) *yaml.Node {
	switch t := v.(type) {
	case *mapping:
		n := t.node
		if n.Kind == 0 {
			n.Kind, n.Tag, n.Style = yaml.MappingNode, "!!map", yaml.FlowStyle
		}
		return &n
	case *yaml.Node:
		return t
	}
	n := &yaml.Node{}
	_ = n.Encode(v) // cannot fail: the value was decoded from YAML or JSON
	return n
}

func (vs vars) names() []string { return slices.Sorted(maps.Keys(vs)) }
