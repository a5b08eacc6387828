package calico

import (
	"context"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/kube"
)

// patience says whether requests wait for an API that does not answer.
type patience bool

const (
	// patient requests always wait: the cluster has an API, so a dry run without its answer would be wrong.
	patient patience = true
	// patientInRuns requests do not wait in a dry run: a new cluster has no API yet.
	patientInRuns patience = false
)

// open returns the cluster of the inventory and a client of its API.
func open(ctx context.Context, actx engine.ActionContext, waits patience) (*cluster.Cluster, *kube.Client, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return nil, nil, err
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, nil, err
	}
	if actx.CheckOnly() && waits == patientInRuns {
		client = client.WithRetryTimeout(-1)
	}
	return c, client, nil
}
