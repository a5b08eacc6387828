package project

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/cluster/componentconfig"
	"deployer/inventory"
	"deployer/strictyaml"
)

// componentErrors joins the invalid values in the configuration of components into one
// error, each with its position in the inventory; nil when there are none.
func componentErrors(inv *inventory.Inventory, values []componentconfig.InvalidValue) error {
	var errs []error
	for _, m := range values {
		pos, key := componentPos(inv, m)
		errs = append(errs, fmt.Errorf("%s: %s: %s", pos, key, m.Message))
	}
	return errors.Join(errs...)
}

// componentPos returns the position of a value and the name of its key there: in the
// host or group that sets it, else in the cluster section. For a default, which is in
// no file, it returns the nearest parent key.
func componentPos(inv *inventory.Inventory, m componentconfig.InvalidValue) (strictyaml.Pos, string) {
	if pos, ok := nodePos(inv, m); ok {
		return pos, m.Host + ": " + strings.Join(m.Path, ".")
	}
	path := m.Path
	for i, key := range path { // elements of lists have no keys of their own
		if strings.HasPrefix(key, "[") {
			path = path[:i]
			break
		}
	}
	for n := len(path); n > 0; n-- {
		if path[0] == "overrides" && n > 1 {
			if pos := inv.OverridePos(m.Host, path[1:n]); pos.Line != 0 {
				return pos, m.Host + ": " + strings.Join(m.Path, ".")
			}
		}
		if node := findKey(inv.Cluster, path[:n]); node != nil {
			return strictyaml.At(inv.File, node), m.Key()
		}
	}
	return strictyaml.Pos{File: inv.File}, m.Key()
}

// nodePos returns the position of a value that is no setting of the cluster, but the name, a
// label or a taint of a host; false for other values.
func nodePos(inv *inventory.Inventory, m componentconfig.InvalidValue) (strictyaml.Pos, bool) {
	if len(m.Path) == 0 {
		return strictyaml.Pos{}, false
	}
	switch m.Path[0] {
	case componentconfig.KeyLabels:
		if pos := inv.LabelPos(m.Host, m.Path[1]); pos.Line != 0 {
			return pos, true
		}
		return inv.HostPos(m.Host), true
	case componentconfig.KeyName, componentconfig.KeyTaints:
		return inv.HostPos(m.Host), true
	}
	return strictyaml.Pos{}, false
}

// findKey walks mappings along a path and returns the node of the last key; nil when
// the file does not have it. A key with dots may be one element of the path or several.
func findKey(node *yaml.Node, path []string) *yaml.Node {
	if item, ok := listItem(node, path[0]); ok {
		if len(path) == 1 {
			return item
		}
		return findKey(item, path[1:])
	}
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		for n := 1; n <= len(path); n++ {
			if node.Content[i].Value != strings.Join(path[:n], ".") {
				continue
			}
			if n == len(path) {
				return node.Content[i]
			}
			if found := findKey(node.Content[i+1], path[n:]); found != nil {
				return found
			}
		}
	}
	return nil
}

// listItem returns the item of a list that a word such as addons[2] names, with the list's key; false
// for other words and for an item that the list does not have.
func listItem(node *yaml.Node, word string) (*yaml.Node, bool) {
	key, rest, ok := strings.Cut(word, "[")
	index, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	if !ok || err != nil || node == nil || node.Kind != yaml.MappingNode {
		return nil, false
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if list := node.Content[i+1]; node.Content[i].Value == key && list.Kind == yaml.SequenceNode && index >= 0 && index < len(list.Content) {
			return list.Content[index], true
		}
	}
	return nil, false
}

// Warnings lists flags of the cluster's components that are deprecated or could not be
// checked, and a virtual address that cannot move.
func (p *Project) Warnings() []string {
	var out []string
	if warning := p.Cluster.API.VirtualIP.Warning(); warning != "" {
		out = append(out, warning)
	}
	return append(out, componentconfig.Warnings(p.Cluster, func(host, component, flag string) bool {
		path := []string{component, "extra_args", flag}
		return findKey(p.Inventory.Cluster, append([]string{"overrides"}, path...)) != nil || p.Inventory.OverridePos(host, path).Line != 0
	})...)
}
