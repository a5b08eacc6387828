// Package actionctx reads what actions need of their site: the resolved cluster,
// and whether this is a dry run.
package actionctx

import (
	"errors"

	"deployer/cluster"
	"deployer/engine"
)

// CheckOnly tells whether this run only checks: gates do not wait then, since
// what they wait for was not started.
func CheckOnly(site engine.Site) bool {
	run, _ := site.Vars()["run"].(map[string]any)
	check, _ := run["check"].(bool)
	return check
}

// Cluster is the resolved cluster that the program provides.
func Cluster(site engine.Site) (*cluster.Cluster, error) {
	c, ok := engine.Service[*cluster.Cluster](site.Services())
	if !ok || c == nil {
		return nil, errors.New("the program that started this run provides no cluster")
	}
	return c, nil
}

// RunID is the id of the run; empty outside of one.
func RunID(site engine.Site) string {
	run, _ := site.Vars()["run"].(map[string]any)
	id, _ := run["id"].(string)
	return id
}
