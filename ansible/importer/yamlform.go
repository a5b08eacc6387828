package importer

import (
	"encoding/json"
	"errors"
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
	f := yamlFile{name: file, json: json.Valid(data)}
	groups, err := f.pairs(root.Content[0])
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.key.Value == "plugin" {
			return fmt.Errorf("%s is the configuration of a plugin: %w", f.at(g.key), errNotStatic)
		}
	}
	for _, g := range groups {
		if err := s.yamlGroup(f, g.key.Value, g); err != nil {
			return err
		}
	}
	return nil
}

// yamlGroup reads one group. Like Ansible, it skips what is not a mapping, and keys but
// hosts, children and vars.
func (s *Source) yamlGroup(f yamlFile, name string, group yamlPair) error {
	if skipped(group.value) {
		s.note(f.at(group.key), "group "+name, "is left out, by Ansible too, because it is not a mapping")
		return nil
	}
	s.group(name, f.at(group.key))
	keys, err := f.pairs(group.value)
	if err != nil {
		return err
	}
	for _, p := range keys {
		if err := s.yamlSection(f, name, p); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) yamlSection(f yamlFile, group string, section yamlPair) error {
	key := section.key.Value
	known := key == "hosts" || key == "children" || key == "vars"
	if !known {
		s.note(f.at(section.key), fmt.Sprintf("group %s: %s", group, key), "is left out, by Ansible too: a group has hosts, children and vars")
		return nil
	}
	if n := section.value; n.Kind == yaml.ScalarNode && !isEmpty(n) { // a name alone
		if v, err := f.value(n); err != nil || fmt.Sprintf("%T", v.v) != "string" {
			return fmt.Errorf("%s: %w: %s of group %s is not a mapping", f.at(n), errShape, key, group)
		}
		section.value = &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Content: []*yaml.Node{n, {Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line}}}
	}
	if key == "vars" {
		return s.yamlVars(f, section.value, func(name string, v value) { s.setGroupVar(group, name, v) })
	}
	entries, err := f.pairs(section.value)
	if err != nil {
		return err
	}
	for _, p := range entries {
		if key == "hosts" {
			err = s.yamlHost(f, group, p)
		} else if err = s.yamlGroup(f, p.key.Value, p); err == nil {
			err = s.addChild(group, p.key.Value, f.at(p.key))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// skipped reports whether a group is something else than a mapping or nothing.
func skipped(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n.Kind != yaml.MappingNode && !isEmpty(n)
}

func (s *Source) yamlHost(f yamlFile, group string, host yamlPair) error {
	names, port, err := hostPattern(host.key.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", f.at(host.key), err)
	}
	for _, name := range names {
		s.addHost(group, name, port, f.at(host.key))
	}
	return s.yamlVars(f, host.value, func(key string, v value) {
		for _, name := range names {
			s.hostVars[name][key] = v
		}
	})
}

// yamlVars calls set for each variable of a mapping; encrypted ones are noted.
func (s *Source) yamlVars(f yamlFile, n *yaml.Node, set func(name string, v value)) error {
	all, err := f.pairs(n)
	if err != nil {
		return err
	}
	for _, p := range all {
		key, err := f.value(p.key)
		if err != nil {
			return err
		}
		name, _ := keyText(key.v)
		at := f.at(p.key)
		switch v, err := f.value(p.value); {
		case errors.Is(err, errVault):
			s.note(at, name, err.Error())
		case err != nil:
			return err
		default:
			set(name, value{v, at})
		}
	}
	return nil
}

// setGroupVar sets a variable that an inventory file gives to a group.
func (s *Source) setGroupVar(group, name string, v value) {
	if name != "ansible_group_priority" {
		s.groupVars[group][name] = v
		return
	}
	switch t := pythonLiteral(fmt.Sprint(v.v)).v.(type) {
	case int:
		s.priority[group] = t
	case float64:
		s.priority[group] = int(t)
	default:
		s.note(v.at, fmt.Sprintf("%s=%v", name, v.v), "is not a number")
	}
}
