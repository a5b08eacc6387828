package keeper

import (
	"context"
	"fmt"
	"slices"

	"deployer/keeper/access"
	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/observe"
	"deployer/keeper/world"
	"deployer/tasks/control/etcd"
)

// PurgeNode takes a node out of the cluster at once, with the hooks and minimums of the configuration. It
// refuses a node whose host answers, unless force is set, because deployer scale-down drains such a node. A
// node whose Node object is gone already may have a member of etcd left.
func (k *Keeper) PurgeNode(ctx context.Context, name string, force bool) error {
	file, err := config.Read(k.options.Config)
	if err != nil {
		return err
	}
	connected, err := access.New(file, k.metrics.Transport)
	if err != nil {
		return err
	}
	reads, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	w, err := k.source(connected, file).Cluster(reads, file.Keeper, world.World{})
	if err != nil {
		return err
	}
	node, err := k.purged(ctx, w, connected.Members, name)
	if err != nil {
		return err
	}
	if node.Reach == world.Answers && !force {
		return fmt.Errorf("the host of node %s answers: deployer scale-down %s drains it and takes it out, or give -force", name, name)
	}
	if why := decide.MayPurge(file.Keeper.Purge, w.Nodes, node); why != "" {
		return fmt.Errorf("node %s stays: %s", name, why)
	}
	if err := k.hold(file, "purge-node "+name, "root"); err != nil {
		return err
	}
	defer k.lock.Release()
	a := decide.Action{Kind: decide.Purge, Object: decide.NodeNamed(name), Node: node, Why: "by hand"}
	a.Object.UID = node.UID
	err = k.actor(connected, file).Do(ctx, a)
	k.record(ctx, connected.Kube, file.Host, a.Objects(), entryOf(a, err))
	return err
}

// purged returns the node with a name, and whether its host answers. One without a Node object must have a
// member of etcd by the inventory.
func (k *Keeper) purged(ctx context.Context, w world.World, members []etcd.Host, name string) (world.Node, error) {
	i := slices.IndexFunc(w.Nodes, func(n world.Node) bool { return n.Name == name })
	if i >= 0 {
		one := w.Nodes[i : i+1]
		observe.Reach(ctx, k.options.Dial, one, func(world.Node) bool { return true })
		return one[0], nil
	}
	if slices.ContainsFunc(members, func(m etcd.Host) bool { return m.Name == name }) {
		return world.Node{Name: name, Etcd: true, Master: true}, nil
	}
	return world.Node{}, fmt.Errorf("the cluster has neither a node nor a member of etcd %s", name)
}
