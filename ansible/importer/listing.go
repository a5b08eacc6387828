package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// listing is a group in the output of `ansible-inventory --list`.
type listing struct {
	Hosts    []string       `json:"hosts"`
	Children []string       `json:"children"`
	Vars     map[string]any `json:"vars"`
}

// readListing parses the output of `ansible-inventory --list`. Its _meta holds the
// variables of every host, with the variables of its groups merged in.
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
	s.moveSharedVars()
	return nil
}

// moveSharedVars moves variables that every host has with the same value to the group all,
// because the JSON form shows variables of groups only as variables of hosts.
func (s *Source) moveSharedVars() {
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

// whole converts floats without a fraction, which is how JSON decodes integers, to int.
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
