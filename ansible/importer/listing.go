package importer

import (
	"bytes"
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
	number := func(into any, from json.RawMessage) error {
		d := json.NewDecoder(bytes.NewReader(from))
		d.UseNumber() // 1 and 1.0 differ
		return d.Decode(into)
	}
	var meta struct {
		HostVars map[string]map[string]any `json:"hostvars"`
	}
	if m, ok := raw["_meta"]; ok {
		if err := number(&meta, m); err != nil {
			return fmt.Errorf("%s: _meta: %w", file, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if name == "_meta" {
			continue
		}
		var g listing
		if err := number(&g, raw[name]); err != nil {
			return fmt.Errorf("%s: group %s: %w", file, name, err)
		}
		s.group(name, file)
		for _, h := range g.Hosts {
			s.addHost(name, h, 0, file)
		}
		for _, c := range g.Children {
			if err := s.addChild(name, c, file); err != nil {
				return err
			}
		}
		for k, v := range g.Vars {
			s.listedVar(k, v, file, func(out value) { s.setGroupVar(name, k, out) })
		}
	}
	for _, h := range slices.Sorted(maps.Keys(meta.HostVars)) {
		s.host(h, file)
		for k, v := range meta.HostVars[h] {
			s.listedVar(k, v, file, func(out value) { s.hostVars[h][k] = out })
		}
	}
	s.moveSharedVars()
	return nil
}

// moveSharedVars moves variables that every host has with the same value to the group all,
// because the JSON form shows variables of groups only as variables of hosts. A variable
// that a group sets, as programs print them, stays with the hosts, where it wins.
func (s *Source) moveSharedVars() {
	if len(s.Hosts) < 2 {
		return
	}
	for name, v := range s.hostVars[s.Hosts[0]] {
		shared := !slices.ContainsFunc(s.Hosts, func(h string) bool {
			other, ok := s.hostVars[h][name]
			return !ok || !reflect.DeepEqual(other.v, v.v)
		})
		ofGroup := slices.ContainsFunc(s.Groups, func(g string) bool { _, ok := s.groupVars[g][name]; return ok })
		if !shared || ofGroup {
			continue
		}
		s.groupVars["all"][name] = v
		for _, h := range s.Hosts {
			delete(s.hostVars[h], name)
		}
	}
}

// listedVar calls set with the value of a variable; encrypted ones are noted.
func (s *Source) listedVar(name string, v any, file string, set func(value)) {
	out, err := fromJSON(v)
	if err != nil {
		if n := (Note{file, name, err.Error()}); !slices.Contains(s.notes, n) {
			s.notes = append(s.notes, n)
		}
		return
	}
	set(value{scalar{v: out}, file})
}

// fromJSON converts the numbers of a decoded value, and the texts that Ansible's JSON marks
// as unsafe. It fails with errVault for encrypted texts.
func fromJSON(v any) (any, error) {
	switch t := v.(type) {
	case json.Number:
		return jsonScalar(t.String()), nil
	case []any:
		out := make([]any, len(t))
		for i := range t {
			var err error
			if out[i], err = fromJSON(t[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(t))
		for k := range t {
			var err error
			if out[k], err = fromJSON(t[k]); err != nil {
				return nil, err
			}
		}
		return markedJSON(out)
	}
	return v, nil
}

// markedJSON returns the text of a mapping by which Ansible's JSON marks a text.
func markedJSON(m map[string]any) (any, error) {
	if _, ok := m["__ansible_vault"]; ok {
		return nil, errVault
	}
	if text, ok := m["__ansible_unsafe"].(string); ok {
		return unsafeText(text), nil
	}
	return m, nil
}
