package importer

import (
	"maps"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"
)

// mapping is a YAML mapping that keeps the order in which its keys came.
type mapping struct{ node yaml.Node }

func (m *mapping) find(key string) int {
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		if m.node.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// set gives a key its value; nothing and empty mappings are left out.
func (m *mapping) set(key string, v any) {
	if sub, ok := v.(*mapping); ok && sub.empty() {
		return
	}
	m.put(key, v)
}

// put is set for what counts by being there, such as a host without settings.
func (m *mapping) put(key string, v any) {
	n := encode(v)
	if i := m.find(key); i >= 0 {
		m.node.Content[i+1] = n
		return
	}
	m.node.Kind, m.node.Tag = yaml.MappingNode, "!!map"
	m.node.Content = append(m.node.Content, encode(key), n)
}

func (m *mapping) setDefault(key string, v any) {
	if m.find(key) < 0 {
		m.set(key, v)
	}
}

// setPath sets a value below mappings that are made on the way.
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

func (m *mapping) empty() bool { return len(m.node.Content) == 0 }

// flow writes the mapping on one line.
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
	_ = n.Encode(v) // plain values only: they came out of YAML or JSON
	return n
}

func (vs vars) names() []string { return slices.Sorted(maps.Keys(vs)) }

var secretName = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|secret|token|private_?key|api_?key|credential)s?$`)

// secret marks a text, so that it reaches no output.
func secret(v any) *yaml.Node {
	n := encode(v)
	if n.Kind == yaml.ScalarNode {
		n.Tag, n.Style = "!secret", yaml.TaggedStyle|yaml.DoubleQuotedStyle
	} else {
		n.Tag, n.Style = "!secret", n.Style|yaml.TaggedStyle
	}
	return n
}
