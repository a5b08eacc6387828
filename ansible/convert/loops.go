package convert

import (
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/ansible/jinja"
)

// flattened translates the list of with_items and takes the lists in it apart.
func (s *source) flattened(n *yaml.Node, filter string) {
	switch n.Kind {
	case yaml.ScalarNode:
		s.loop(n, false, func(list string) string { return piped(list, filter) })
		return
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if item.Kind == yaml.SequenceNode || item.Kind == yaml.ScalarNode && strings.Contains(item.Value, "{{") && s.mayBeList(item) {
				s.note(item, "an item that is a list was taken apart by with_items: write loop: [...] | "+filter)
			}
		}
	}
	s.value(n, false)
}

// piped prints an expression with a filter behind it.
func piped(list, filter string) string {
	if strings.Contains(list, " ") {
		list = "(" + list + ")"
	}
	return list + " | " + filter
}

// mayBeList reports whether a template that is an item of a list may give a list.
func (s *source) mayBeList(item *yaml.Node) bool {
	return s.jinja.MayBeList(item.Value)
}

// hosts translates the pattern of a play.
func (s *source) hosts(key, value *yaml.Node) {
	for _, name := range strings.FieldsFunc(value.Value, func(r rune) bool { return strings.ContainsRune(" ,:&!", r) }) {
		if note := jinja.GroupNote(name); note != "" && !strings.ContainsAny(name, "{}*~[]") {
			s.differ(key, "hosts: "+note)
		}
	}
	s.value(value, false)
}
