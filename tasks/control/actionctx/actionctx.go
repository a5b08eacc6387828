// Package actionctx reads what actions need from their site: the resolved cluster,
// the variables that hosts registered, whether this is a dry run, and the id of the
// run.
package actionctx

import (
	"errors"

	"deployer/cluster"
	"deployer/engine"
)

// CheckOnly reports whether this is a dry run. Gates do not wait then, because the
// services that they wait for were not started.
func CheckOnly(site engine.ActionContext) bool {
	run, _ := site.Vars()["run"].(map[string]any)
	check, _ := run["check"].(bool)
	return check
}

// Cluster returns the resolved cluster, a service of the program that started the
// run.
func Cluster(site engine.ActionContext) (*cluster.Cluster, error) {
	c, ok := engine.Service[*cluster.Cluster](site.Services())
	if !ok || c == nil {
		return nil, errors.New("this action needs a cluster, and the program that started the run provides none")
	}
	return c, nil
}

// RunID returns the id of the run; empty outside of a run.
func RunID(site engine.ActionContext) string {
	run, _ := site.Vars()["run"].(map[string]any)
	id, _ := run["id"].(string)
	return id
}
