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
// inventory. The same problem at one place is reported once, for example when all
// hosts of a group have a wrong value of the group.
func withPositions(inv *inventory.Inventory, err error) error {
	var problems cluster.Problems
	if !errors.As(err, &problems) {
		return err
	}
	var errs []error
	reported := map[string]bool{}
	for _, p := range problems {
		place, found := problemPos(inv, p)
		if id := place + "\x00" + p.Message; !found || !reported[id] {
			reported[id] = true
			errs = append(errs, fmt.Errorf("%s: %s", place, p))
		}
	}
	return errors.Join(errs...)
}

// problemPos returns the place of the key that a problem is about; found is false when
// the file does not have it.
func problemPos(inv *inventory.Inventory, p cluster.Problem) (place string, found bool) {
	if host, key, ok := strings.Cut(p.Subject, ": overrides."); ok {
		path := strings.Split(key, ".")
		for n := len(path); n > 0; n-- {
			if pos := inv.OverridePos(host, path[:n]); pos.Line != 0 {
				return pos.String(), true
			}
		}
	}
	if pos := inv.HostPos(p.Subject); pos.Line != 0 {
		return pos.String(), true
	}
	path := strings.Split(strings.TrimPrefix(p.Subject, "cluster."), ".")
	for n := len(path); n > 0; n-- { // an override may be a mapping that lacks the key
		if node := findKey(inv.Cluster, path[:n]); node != nil {
			return strictyaml.At(inv.File, node).String(), true
		}
		if path[0] != "overrides" && !strings.Contains(p.Subject, "[") {
			break
		}
	}
	return inv.File, false
}

// VersionLine is the Kubernetes version of an inventory with its place.
type VersionLine struct {
	Place   string // file:line:column; the file alone where it has no version
	Version string // empty for the default
}

// KubernetesLine returns the place of cluster.kubernetes in an inventory.
func KubernetesLine(inv *inventory.Inventory) (VersionLine, error) {
	spec, err := ClusterSpec(inv)
	if err != nil {
		return VersionLine{}, err
	}
	line := VersionLine{Place: inv.File, Version: spec.Kubernetes}
	if node := findKey(inv.Cluster, []string{"kubernetes"}); node != nil {
		line.Place = strictyaml.At(inv.File, node).String()
	}
	return line, nil
}
