package observe

import (
	"context"
	"time"

	"deployer/cluster"
	"deployer/keeper/decide"
	"deployer/keeper/world"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/kube"
)

// Source is where the keeper reads.
type Source struct {
	Kube    *kube.Client
	Dial    Dial
	Open    etcd.Opener
	Members []etcd.Host
	Masters []string // names of hosts
}

// Cluster reads what the rules of the cluster need, and no more: pods of nodes that are Unknown, and
// whether hosts answer when a rule will ask. It adds them to w.
func (s Source) Cluster(ctx context.Context, settings cluster.KeeperSpec, w world.World) (world.World, error) {
	w.Now = time.Now()
	var etcdHosts []string
	for _, m := range s.Members {
		etcdHosts = append(etcdHosts, m.Name)
	}
	var err error
	if w.Nodes, err = Nodes(ctx, s.Kube, s.Masters, etcdHosts); err != nil {
		return w, err
	}
	if decide.NeedsProbe(w.Nodes) {
		Reach(ctx, s.Dial, w.Nodes)
	}
	for _, n := range w.Nodes {
		if n.Ready != world.Unknown || w.Now.Sub(n.Since) < settings.Clear.UnknownFor {
			continue
		}
		ending, err := Ending(ctx, s.Kube, n.Name)
		if err != nil {
			return w, err
		}
		w.Ending = append(w.Ending, ending...)
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
