package project

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/inventory"
	"deployer/strictyaml"
)

// placed gives the problems of a cluster their places in the file.
func placed(inv *inventory.Inventory, err error) error {
	var problems cluster.Problems
	if !errors.As(err, &problems) {
		return err
	}
	errs := make([]error, len(problems))
	for i, p := range problems {
		place := inv.File
		if node := find(inv.Cluster, strings.TrimPrefix(p.Subject, "cluster.")); node != nil {
			place = strictyaml.At(inv.File, node).String()
		}
		errs[i] = fmt.Errorf("%s: %s", place, p)
	}
	return errors.Join(errs...)
}

// find walks mappings along a dotted path to the key that it ends with, nil when
// the file does not have it: then a default is the problem.
func find(node *yaml.Node, path string) *yaml.Node {
	key, rest, more := strings.Cut(path, ".")
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		switch {
		case node.Content[i].Value != key:
		case more:
			return find(node.Content[i+1], rest)
		default:
			return node.Content[i]
		}
	}
	return nil
}
