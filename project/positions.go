package project

import (
	"errors"
	"fmt"
	"strings"

	"deployer/cluster"
	"deployer/inventory"
	"deployer/strictyaml"
)

// withPositions prefixes the problems of a cluster with file:line:column of the
// inventory.
func withPositions(inv *inventory.Inventory, err error) error {
	var problems cluster.Problems
	if !errors.As(err, &problems) {
		return err
	}
	errs := make([]error, len(problems))
	for i, p := range problems {
		place := inv.File
		if node := findKey(inv.Cluster, strings.Split(strings.TrimPrefix(p.Subject, "cluster."), ".")); node != nil {
			place = strictyaml.At(inv.File, node).String()
		}
		errs[i] = fmt.Errorf("%s: %s", place, p)
	}
	return errors.Join(errs...)
}
