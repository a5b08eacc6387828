package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Origin is one value of a host with the place that sets it.
type Origin struct {
	Key   string         `json:"key"`          // "ssh.user", "vars.mtu", "overrides.kubelet.maxPods"
	Value any            `json:"value"`        // secrets are masked
	Layer string         `json:"layer"`        // "default", "all", "group rack1", "host m1" or a file beside the inventory
	Pos   strictyaml.Pos `json:"pos,omitzero"` // zero for defaults
}

// Origins lists all merged values of a host, in the order node_network, node_interface, ssh, vars, overrides, labels,
// taints. Origins returns nil for an unknown host.
func (inv *Inventory) Origins(host string) []Origin {
	i, ok := inv.index[host]
	if !ok {
		return nil
	}
	o := &origins{inv: inv, layers: inv.layers[i], host: inv.Hosts[i], port: inv.ports[i]}
	o.choice()
	o.ssh(inv.Hosts[i].SSH)
	o.section("vars", varsOf(o.layers), func(l layer) *yaml.Node { return l.vars }, 1)
	o.section("overrides", overridesOf(o.layers), func(l layer) *yaml.Node { return l.overrides }, 64)
	o.labels()
	return o.out
}

// VarPos returns the place that sets a variable of a host; zero without one.
func (inv *Inventory) VarPos(host, name string) strictyaml.Pos {
	i, ok := inv.index[host]
	if !ok {
		return strictyaml.Pos{}
	}
	for _, l := range slices.Backward(inv.layers[i]) {
		if n := at(l.vars, []string{name}); n != nil {
			return strictyaml.At(cmp.Or(l.file, inv.File), n)
		}
	}
	return strictyaml.Pos{}
}

// LabelPos returns the place that sets a label of a host, in the host or in one of its groups;
// zero without one.
func (inv *Inventory) LabelPos(host, key string) strictyaml.Pos {
	i, ok := inv.index[host]
	if !ok {
		return strictyaml.Pos{}
	}
	for _, l := range slices.Backward(inv.layers[i]) {
		for _, e := range l.labels {
			if e.Key == key {
				return e.Pos
			}
		}
	}
	return strictyaml.Pos{}
}

// HostPos returns the place of a host in the file; zero without one.
func (inv *Inventory) HostPos(host string) strictyaml.Pos {
	if i, ok := inv.index[host]; ok {
		return inv.Hosts[i].Pos
	}
	return strictyaml.Pos{}
}

// OverridePos returns the place that sets a key of a host's overrides, in the host or in
// one of its groups; zero without one. path starts below `overrides:`.
func (inv *Inventory) OverridePos(host string, path []string) strictyaml.Pos {
	i, ok := inv.index[host]
	if !ok || len(path) == 0 {
		return strictyaml.Pos{}
	}
	for _, l := range slices.Backward(inv.layers[i]) {
		parent := at(l.overrides, path[:len(path)-1])
		if n := keyOf(parent, path[len(path)-1]); n != nil {
			return strictyaml.At(cmp.Or(l.file, inv.File), n)
		}
	}
	return strictyaml.Pos{}
}

// keyOf returns the node of a key in a mapping; nil without one.
func keyOf(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i]
		}
	}
	return nil
}

type origins struct {
	inv    *Inventory
	layers []layer
	host   Host
	port   int // port that the address has; 0 for none
	out    []Origin
}

// choice lists the settings that select the node address.
func (o *origins) choice() {
	for _, key := range []struct {
		name string
		of   func(NodeAddressChoice) string
	}{
		{"node_network", func(c NodeAddressChoice) string { return c.Network }},
		{"node_interface", func(c NodeAddressChoice) string { return c.Interface }},
	} {
		for _, l := range slices.Backward(o.layers) {
			if text := key.of(l.choice); text != "" {
				o.out = append(o.out, Origin{Key: key.name, Value: text, Layer: l.name})
				break
			}
		}
	}
}

// ssh lists the explicit settings, and the defaults of the others.
func (o *origins) ssh(s SSH) {
	given := sshOf(o.layers)
	resolved := map[string]any{"config": s.Config, "key": s.Key, "known_hosts": s.KnownHosts, "password_file": s.PasswordFile, "become_password_file": s.BecomePasswordFile,
		"connect_timeout": s.ConnectTimeout.String()}
	for _, k := range strictyaml.Describe(SSH{}) {
		n := valueOf(given, k.Path)
		value, ok := resolved[k.Path]
		switch {
		case k.Path == "port" && o.port != 0:
			own := slices.IndexFunc(o.layers, func(l layer) bool { return strings.HasPrefix(l.name, "host ") })
			o.out = append(o.out, Origin{"ssh.port", o.port, o.layers[own].name, o.host.Pos})
		case n == nil && k.Default != "" && !strings.Contains(k.Path, "[]"):
			var v any
			_ = yaml.Unmarshal([]byte(k.Default), &v) // a tag of ours
			o.out = append(o.out, Origin{Key: "ssh." + k.Path, Value: v, Layer: "default"})
		case n == nil:
		case ok:
			o.add("ssh."+k.Path, value, n, func(l layer) *yaml.Node { return l.ssh }, []string{k.Path})
		default:
			o.add("ssh."+k.Path, o.decode(n), n, func(l layer) *yaml.Node { return l.ssh }, []string{k.Path})
		}
	}
}

// section lists the values of a merged mapping, down to depth levels.
func (o *origins) section(name string, merged *yaml.Node, of func(layer) *yaml.Node, depth int, path ...string) {
	for i := 0; i+1 < len(merged.Content); i += 2 {
		here := append(path[:len(path):len(path)], merged.Content[i].Value)
		value := merged.Content[i+1]
		if value.Kind == yaml.MappingNode && depth > 1 && len(value.Content) > 0 {
			o.section(name, value, of, depth-1, here...)
			continue
		}
		o.add(name+"."+strings.Join(here, "."), o.decode(value), value, of, here)
	}
}

// add appends a value with its layer: the highest layer that contains this very node at
// path.
func (o *origins) add(key string, value any, n *yaml.Node, of func(layer) *yaml.Node, path []string) {
	for i := len(o.layers) - 1; i >= 0; i-- {
		if at(of(o.layers[i]), path) == n {
			o.out = append(o.out, Origin{key, value, o.layers[i].name, strictyaml.At(cmp.Or(o.layers[i].file, o.inv.File), n)})
			return
		}
	}
}

func at(n *yaml.Node, path []string) *yaml.Node {
	for _, key := range path {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		n = valueOf(n, key)
	}
	return n
}

func (o *origins) labels() {
	won := map[string]Origin{}
	var order []string
	for _, l := range o.layers {
		for _, e := range l.labels {
			if _, ok := won[e.Key]; !ok {
				order = append(order, e.Key)
			}
			won[e.Key] = Origin{"labels." + e.Key, o.mask(e.Value), l.name, e.Pos}
		}
		for _, t := range l.taints {
			id := "taints " + t.id()
			if _, ok := won[id]; !ok {
				order = append(order, id)
			}
			won[id] = Origin{Key: "taints", Value: o.mask(string(t)), Layer: l.name}
		}
	}
	for _, key := range order {
		o.out = append(o.out, won[key])
	}
}

func (o *origins) decode(n *yaml.Node) any {
	var v any
	if err := strictyaml.Decode(o.inv.File, n, &v); err != nil {
		return fmt.Sprintf("(%v)", err) // cannot be: the file was decoded before
	}
	return o.mask(v)
}

// mask replaces the secrets in a value.
func (o *origins) mask(v any) any {
	switch v := v.(type) {
	case string:
		for _, s := range o.inv.secrets {
			if strings.Contains(v, s) {
				return "(secret)"
			}
		}
	case []any:
		for i := range v {
			v[i] = o.mask(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = o.mask(v[k])
		}
	}
	return v
}
