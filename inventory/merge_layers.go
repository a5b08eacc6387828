package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// mergeHosts merges the layers of every host. Hosts with the same layers, such as those
// of a range, are merged once.
func (b *builder) mergeHosts() {
	b.ssh = map[string]SSH{}
	done := map[string]merged{}
	for i := range b.inv.Hosts {
		h := &b.inv.Hosts[i]
		var key strings.Builder
		here, book := b.vars.inventory, b.vars.playbook
		layers := slices.Concat([]layer{fileLayer(&b.file)}, here.groups["all"], book.groups["all"])
		var ofBook []layer // over all groups of the inventory
		for _, role := range h.Roles {
			layers, ofBook = append(layers, here.groups[role]...), append(ofBook, book.groups[role]...)
			fmt.Fprintf(&key, "%s ", role)
		}
		for _, g := range b.order {
			if e := b.file.Groups[g]; len(b.groups[e.Key]) > i && b.groups[e.Key][i] {
				h.Groups = append(h.Groups, e.Key)
				layers = append(append(layers, groupLayer(e)), here.groups[e.Key]...)
				ofBook = append(ofBook, book.groups[e.Key]...)
				fmt.Fprintf(&key, "%d ", g)
			}
		}
		layers = slices.Concat(layers, ofBook, []layer{hostLayer(b.file.Hosts[b.entry[i]])})
		fmt.Fprintf(&key, "host %d", b.entry[i])
		if own := slices.Concat(here.hosts[h.Name], book.hosts[h.Name]); len(own) > 0 {
			layers = append(layers, own...)
			fmt.Fprintf(&key, " %s", h.Name)
		}
		m, ok := done[key.String()]
		if !ok {
			m = b.merge(layers)
			done[key.String()] = m
		}
		m.give(h)
		h.SSH.Port = cmp.Or(b.inv.ports[i], h.SSH.Port)
		b.inv.layers = append(b.inv.layers, layers)
	}
}

// merged is the result of a list of layers.
type merged struct {
	ssh       SSH
	vars      map[string]any
	overrides map[string]any
	labels    map[string]string
	taints    []string
	choice    NodeAddressChoice
}

func (b *builder) merge(layers []layer) merged {
	m := merged{ssh: b.mergeSSH(layers), vars: map[string]any{}, overrides: map[string]any{}, labels: map[string]string{}}
	// Decoding has reported the problems inside of layers.
	_ = strictyaml.Decode(b.inv.File, varsOf(layers), &m.vars)
	_ = strictyaml.Decode(b.inv.File, overridesOf(layers), &m.overrides)
	taints := map[string]string{}
	for _, l := range layers {
		m.choice = NodeAddressChoice{cmp.Or(l.choice.Network, m.choice.Network), cmp.Or(l.choice.Interface, m.choice.Interface)}
		for _, e := range l.labels {
			if !labelKey.MatchString(e.Key) || !labelValue.MatchString(e.Value) {
				b.errorf(e.Pos, "%s=%s is not a label of Kubernetes", e.Key, e.Value)
			}
			m.labels[e.Key] = e.Value
		}
		for _, t := range l.taints {
			taints[t.id()] = string(t)
		}
	}
	m.taints = slices.Sorted(maps.Values(taints))
	return m
}

// mergeSSH merges each combination of ssh sections once, because most hosts share them.
func (b *builder) mergeSSH(layers []layer) SSH {
	var key strings.Builder
	for _, l := range layers {
		if l.ssh != nil {
			fmt.Fprintf(&key, "%p ", l.ssh)
		}
	}
	if s, ok := b.ssh[key.String()]; ok {
		return s
	}
	s, merged := sshDefaults(), sshOf(layers)
	_ = strictyaml.Decode(b.inv.File, merged, &s)
	s.resolvePaths(b.inv.Dir, b.home)
	if key, err := s.check(); err != nil {
		b.errorf(strictyaml.At(b.inv.File, valueOf(merged, key)), "%v", err)
	}
	b.ssh[key.String()] = s
	return s
}

func sshOf(layers []layer) *yaml.Node {
	return shallow(pick(layers, func(l layer) *yaml.Node { return l.ssh }))
}

func varsOf(layers []layer) *yaml.Node {
	return shallow(pick(layers, func(l layer) *yaml.Node { return l.vars }))
}

func overridesOf(layers []layer) *yaml.Node {
	return deep(pick(layers, func(l layer) *yaml.Node { return l.overrides }))
}

// give copies the maps, so that no two hosts share one.
func (m merged) give(h *Host) {
	h.SSH = m.ssh
	h.SSH.Bastion = slices.Clone(m.ssh.Bastion)
	h.Vars = cloneValue(m.vars).(map[string]any)
	h.Overrides = cloneValue(m.overrides).(map[string]any)
	h.Labels = maps.Clone(m.labels)
	h.Taints = slices.Clone(m.taints)
	h.NodeAddressChoice = m.choice
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = cloneValue(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = cloneValue(x)
		}
		return out
	}
	return v
}

// valueOf returns the value of a key in a mapping; nil without one.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}
