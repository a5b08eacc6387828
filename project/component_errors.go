package project

import (
	"errors"
	"fmt"
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

// findKey walks mappings along a path and returns the node of the last key; nil when
// the file does not have it. A key with dots may be one element of the path or several.
func findKey(node *yaml.Node, path []string) *yaml.Node {
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

// Warnings lists flags of the cluster's components that are deprecated or could not be
// checked.
func (p *Project) Warnings() []string {
	return componentconfig.Warnings(p.Cluster, func(host, component, flag string) bool {
		path := []string{component, "extra_args", flag}
		return findKey(p.Inventory.Cluster, append([]string{"overrides"}, path...)) != nil || p.Inventory.OverridePos(host, path).Line != 0
	})
}
