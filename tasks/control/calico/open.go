package calico

import (
	"context"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/kube"
)

// open returns the cluster of the inventory and a client of its API. In a dry run the client does not
// wait for an API that does not answer: a new cluster has none yet.
func open(ctx context.Context, actx engine.ActionContext) (*cluster.Cluster, *kube.Client, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return nil, nil, err
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, nil, err
	}
	if actx.CheckOnly() {
		client = client.WithRetryTimeout(-1)
	}
	return c, client, nil
}
