package importer

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// readYAML parses the YAML form: groups with hosts, children and vars, below "all" or
// at the top.
func (s *Source) readYAML(file string, data []byte) error {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(root.Content) == 0 {
		return nil
	}
	return pairs(file, root.Content[0], func(name string, n *yaml.Node) error { return s.yamlGroup(file, name, n) })
}

func (s *Source) yamlGroup(file, name string, n *yaml.Node) error {
	s.group(name)
	return pairs(file, n, func(key string, v *yaml.Node) error {
		switch key {
		case "hosts":
			return pairs(file, v, func(pattern string, own *yaml.Node) error { return s.yamlHost(file, name, pattern, own) })
		case "children":
			return pairs(file, v, func(child string, c *yaml.Node) error {
				s.addChild(name, child)
				return s.yamlGroup(file, child, c)
			})
		case "vars":
			return s.yamlVars(file, v, s.groupVars[name])
		}
		return fmt.Errorf("%s:%d: group %s has %q, want hosts, children or vars", file, v.Line, name, key)
	})
}

func (s *Source) yamlHost(file, group, pattern string, own *yaml.Node) error {
	names, err := expand(pattern)
	if err != nil {
		return fmt.Errorf("%s:%d: %w", file, own.Line, err)
	}
	for _, name := range names {
		s.addHost(group, name)
		if err := s.yamlVars(file, own, s.hostVars[name]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) yamlVars(file string, n *yaml.Node, into vars) error {
	return pairs(file, n, func(key string, v *yaml.Node) error {
		at := fmt.Sprintf("%s:%d", file, v.Line)
		if v.Tag == "!vault" {
			s.notes = append(s.notes, Note{at, key, "encrypted with ansible-vault: put it into a file for `deployer secrets encrypt`"})
			return nil
		}
		v.Tag = plainTag(v.Tag)
		var out any
		if err := v.Decode(&out); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		into[key] = value{out, at}
		return nil
	})
}

// plainTag replaces !unsafe, which forbids Jinja in a text, by the tag of a text.
func plainTag(tag string) string {
	if tag == "!unsafe" {
		return "!!str"
	}
	return tag
}

// pairs calls each for the pairs of a mapping; an empty node counts as an empty mapping.
func pairs(file string, n *yaml.Node, each func(key string, v *yaml.Node) error) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == 0 || n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || n.Value == "") {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: %w: want a mapping", file, n.Line, errShape)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := each(n.Content[i].Value, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}
