package observe

import (
	"context"
	"slices"

	"deployer/keeper/world"
	"deployer/tasks/control/etcd"
)

// Etcd observes the members of etcd, those that no host of the inventory has among them.
func Etcd(ctx context.Context, open etcd.Opener, hosts []etcd.Host) world.Etcd {
	survey := etcd.Take(ctx, open, hosts)
	return world.Etcd{Known: true, Members: slices.Concat(survey.States(hosts), survey.OtherStates(hosts)), NoSpace: etcd.NoSpace(ctx, open, survey, hosts)}
}
