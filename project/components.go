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

// misconfigured turns what is wrong with the configuration of components into one
// error, each mistake with its place in the inventory; nil when nothing is.
func misconfigured(inv *inventory.Inventory, mistakes []componentconfig.Mistake) error {
	var errs []error
	for _, m := range mistakes {
		pos, key := placeOf(inv, m)
		errs = append(errs, fmt.Errorf("%s: %s: %s", pos, key, m.Message))
	}
	return errors.Join(errs...)
}

// placeOf is where a value stands and how its key is called there: in a host or
// group when one of these sets it, else in the cluster section. A value that
// stands nowhere is a default that others of its file do not go with, so the
// nearest key above it is named.
func placeOf(inv *inventory.Inventory, m componentconfig.Mistake) (strictyaml.Pos, string) {
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
		if node := along(inv.Cluster, path[:n]); node != nil {
			return strictyaml.At(inv.File, node), m.Key()
		}
	}
	return strictyaml.Pos{File: inv.File}, m.Key()
}

// along walks mappings along keys, which may have dots, to the key that the path
// ends with; nil when the file does not have it.
func along(node *yaml.Node, path []string) *yaml.Node {
	var found *yaml.Node
	for _, key := range path {
		if node == nil || node.Kind != yaml.MappingNode {
			return nil
		}
		found = nil
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				found, node = node.Content[i], node.Content[i+1]
				break
			}
		}
		if found == nil {
			return nil
		}
	}
	return found
}

// Warnings says what of the cluster is doubtful, though nothing refuses it: flags
// that are deprecated or could not be checked.
func (p *Project) Warnings() []string {
	return componentconfig.Warnings(p.Cluster, func(host, component, flag string) bool {
		path := []string{component, "extra_args", flag}
		return along(p.Inventory.Cluster, append([]string{"overrides"}, path...)) != nil || p.Inventory.OverridePos(host, path).Line != 0
	})
}
