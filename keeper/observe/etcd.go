package observe

import (
	"context"

	"deployer/keeper/world"
	"deployer/tasks/control/etcd"
)

// Etcd observes the members of etcd.
func Etcd(ctx context.Context, open etcd.Opener, hosts []etcd.Host) world.Etcd {
	survey := etcd.Take(ctx, open, hosts)
	return world.Etcd{Known: true, Members: survey.States(hosts), NoSpace: etcd.NoSpace(ctx, open, survey, hosts)}
}
