// Package actionctx reads from the context of an action: the resolved cluster, and
// results that several hosts registered.
package actionctx

import (
	"errors"

	"deployer/cluster"
	"deployer/engine"
)

// Cluster returns the resolved cluster, a service of the program that started the
// run.
func Cluster(actx engine.ActionContext) (*cluster.Cluster, error) {
	c, ok := engine.Service[*cluster.Cluster](actx.Services())
	if !ok || c == nil {
		return nil, errors.New("this action needs a cluster, and the program that started the run provides none")
	}
	return c, nil
}
