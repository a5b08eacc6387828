package observe

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/cluster"
	"deployer/keeper/decide"
	"deployer/keeper/world"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/kube"
)

// Source is where the keeper reads.
type Source struct {
	Kube *kube.Client
	// Nodes returns the nodes; [Nodes] or those of a [NodeWatch].
	Nodes   func(context.Context) ([]world.Node, error)
	Dial    Dial
	Open    etcd.Opener
	Members []etcd.Host
	Masters []string // names of hosts
}

// Cluster reads what the rules of the cluster need, and no more: pods of nodes that have been Unknown for long, and
// whether hosts answer when a rule will ask. It adds them to w, which has etcd.
func (s Source) Cluster(ctx context.Context, settings cluster.KeeperSpec, w world.World) (world.World, error) {
	w.Now = time.Now()
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return w, err
	}
	w.Nodes = nodes
	for i := range w.Nodes {
		n := &w.Nodes[i]
		n.Master = slices.Contains(s.Masters, n.Name)
		n.Etcd = slices.ContainsFunc(s.Members, func(m etcd.Host) bool { return m.Name == n.Name })
	}
	Reach(ctx, s.Dial, w.Nodes, func(n world.Node) bool { return decide.NeedsReach(settings, w, n) })
	if w.Ending, err = s.ending(ctx, settings, w); err != nil {
		return w, err
	}
	if decide.NeedsMajority(settings, w) {
		Majority(ctx, s.Dial, w.Nodes)
	}
	for _, stuck := range settings.StuckContainers {
		pods, err := Watched(ctx, s.Kube, stuck)
		if err != nil {
			return w, err
		}
		w.Watched = append(w.Watched, pods)
	}
	for _, policy := range settings.Scale {
		objects, err := Scaled(ctx, s.Kube, policy)
		if err != nil {
			return w, err
		}
		w.Scaled = append(w.Scaled, objects)
	}
	return w, nil
}

// endingAtOnce is the number of nodes whose pods are listed at one time.
const endingAtOnce = 4

// ending returns the deleted pods of all nodes that may be cleared.
func (s Source) ending(ctx context.Context, settings cluster.KeeperSpec, w world.World) ([]world.Pod, error) {
	pods := make([][]world.Pod, len(w.Nodes))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(endingAtOnce)
	for i, n := range w.Nodes {
		if !decide.NeedsPods(settings, w, n) {
			continue
		}
		group.Go(func() (err error) {
			pods[i], err = Ending(ctx, s.Kube, n.Name)
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(pods...), err
}
