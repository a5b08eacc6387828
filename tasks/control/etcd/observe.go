package etcd

import (
	"context"

	"deployer/cluster"
	"deployer/engine"
)

// Observe returns the running etcd cluster with a name as the etcd hosts of the resolved cluster
// report it. Observe fails when no member serves.
func Observe(ctx context.Context, actx engine.ActionContext, name string) (*cluster.EtcdLive, error) {
	open, hosts, err := Target{Cluster: name}.remaining(ctx, actx)
	if err != nil {
		return nil, err
	}
	live := Take(ctx, open, hosts).Live()
	if live == nil {
		return nil, errNoMember
	}
	return live, nil
}
