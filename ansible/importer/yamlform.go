package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"
)

// readYAML reads the form of Ansible's yaml plugin: groups with hosts, children
// and vars, "all" at the top or not.
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
		return fmt.Errorf("%s:%d: group %s has %q, and only hosts, children and vars are known", file, v.Line, name, key)
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

// plainTag drops Ansible's own tags; !unsafe only says that there is no Jinja.
func plainTag(tag string) string {
	if tag == "!unsafe" {
		return "!!str"
	}
	return tag
}

// pairs goes through a mapping; an empty node is an empty mapping.
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

// listing is what `ansible-inventory --list` prints.
type listing struct {
	Hosts    []string       `json:"hosts"`
	Children []string       `json:"children"`
	Vars     map[string]any `json:"vars"`
}

// readListing reads that JSON; its _meta holds the variables of every host, those
// of its groups already merged in.
func (s *Source) readListing(file string, data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var meta struct {
		HostVars map[string]map[string]any `json:"hostvars"`
	}
	if m, ok := raw["_meta"]; ok {
		if err := json.Unmarshal(m, &meta); err != nil {
			return fmt.Errorf("%s: _meta: %w", file, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if name == "_meta" {
			continue
		}
		var g listing
		if err := json.Unmarshal(raw[name], &g); err != nil {
			return fmt.Errorf("%s: group %s: %w", file, name, err)
		}
		s.group(name)
		for _, h := range g.Hosts {
			s.addHost(name, h)
		}
		for _, c := range g.Children {
			s.addChild(name, c)
		}
		for k, v := range g.Vars {
			s.groupVars[name][k] = value{whole(v), file}
		}
	}
	for _, h := range slices.Sorted(maps.Keys(meta.HostVars)) {
		s.host(h)
		for k, v := range meta.HostVars[h] {
			s.hostVars[h][k] = value{whole(v), file}
		}
	}
	s.hoist()
	return nil
}

// hoist makes variables of all what every host has with the same value: the
// JSON form tells the variables of groups only where they ended up.
func (s *Source) hoist() {
	if len(s.Hosts) < 2 {
		return
	}
	s.group("all")
	for name, v := range s.hostVars[s.Hosts[0]] {
		shared := !slices.ContainsFunc(s.Hosts, func(h string) bool {
			other, ok := s.hostVars[h][name]
			return !ok || !reflect.DeepEqual(other.v, v.v)
		})
		if !shared {
			continue
		}
		s.groupVars["all"][name] = v
		for _, h := range s.Hosts {
			delete(s.hostVars[h], name)
		}
	}
}

// whole makes whole numbers of what JSON gives as floats.
func whole(v any) any {
	switch t := v.(type) {
	case float64:
		if n := int(t); float64(n) == t {
			return n
		}
	case []any:
		for i := range t {
			t[i] = whole(t[i])
		}
	case map[string]any:
		for k := range t {
			t[k] = whole(t[k])
		}
	}
	return v
}
