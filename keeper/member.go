package keeper

import (
	"context"
	"slices"
	"time"

	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/host"
	"deployer/keeper/rejoin"
	"deployer/keeper/world"
	"deployer/tasks/control/etcd"
)

// lost is what a keeper remembers of the member of etcd on its host.
type lost struct {
	why   string    // why it cannot serve again by itself; empty when it can
	since time.Time // since when
}

// rejoinEtcd makes the host a member of etcd anew when that is due.
func (k *Keeper) rejoinEtcd(ctx context.Context, file config.File, own world.Own, w world.World) decide.Decision {
	why := decide.Lost(file.Host, own, w.Etcd)
	if why != k.lost.why {
		k.lost = lost{why, w.Now}
	}
	d := decide.Rejoin(file.Keeper.Etcd, file.Host, why, k.lost.since, w)
	due := k.history.Fresh(d.Actions, w.Now)
	if len(due) > 0 && k.act(ctx, file, due, nil) != "" {
		due = nil // a run is at work
	}
	return decide.Decision{Actions: due, Blocked: d.Blocked}
}

// member returns what makes the host a member of etcd.
func (k *Keeper) member(file config.File) rejoin.Rejoin {
	at := slices.IndexFunc(k.access.Members, func(m etcd.Host) bool { return m.Name == file.Host })
	return rejoin.Rejoin{
		Self: k.access.Members[at], Members: k.access.Members, Open: k.access.Open, Files: *file.Own.Etcd,
		System: &host.System{Name: file.Host, Root: k.options.Root, Say: func(text string) { k.options.Log.Info(text) }},
	}
}
