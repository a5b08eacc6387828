package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// syncing is the number of nodes that read their first objects at the same time. In a cluster nodes come
// one after the other, too.
const syncing = 24

// nodes are the kubelets and kube-proxies of all nodes.
type nodes struct {
	all      []*node
	masters  []*node // without watches; stage keeper has them
	counters counters
	alive    context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
	synced   atomic.Int64
}

// startNodes starts the kubelets of n nodes, which renew their Leases and report their status through the API at
// address. They do not watch yet.
func startNodes(ctx context.Context, p *plane, address string, n int) (*nodes, error) {
	running, cancel := context.WithCancel(ctx)
	ns := &nodes{cancel: cancel, alive: running}
	kubeProxy, err := p.tlsConfig("system:kube-proxy")
	if err != nil {
		return ns, err
	}
	for i := range n {
		kubelet, err := p.tlsConfig("system:node:"+nodeName(i), "system:nodes")
		if err != nil {
			return ns, err
		}
		one := &node{name: nodeName(i), kubelet: newClient(address, kubelet, &ns.counters), kubeProxy: newClient(address, kubeProxy, &ns.counters)}
		one.alive, one.die = context.WithCancel(running)
		ns.all = append(ns.all, one)
		ns.running.Go(func() { one.live(one.alive) })
	}
	return ns, nil
}

// addMaster creates the Node of a master, which takes no pods, and starts its kubelet.
func (ns *nodes) addMaster(ctx context.Context, p *plane, name, address string) error {
	config, err := p.tlsConfig("system:node:"+name, "system:nodes")
	if err != nil {
		return err
	}
	o := nodeObject(name)
	o["spec"] = object{"unschedulable": true}
	if err := p.api().Do(ctx, http.MethodPost, "/api/v1/nodes", o, nil); err != nil {
		return err
	}
	one := &node{name: name, kubelet: newClient(address, config, &ns.counters)}
	ns.masters = append(ns.masters, one)
	ns.running.Go(func() { one.live(ns.alive) })
	return nil
}

// watch opens all watches, and returns when each has all objects.
func (ns *nodes) watch(ctx context.Context) error {
	slots := make(chan struct{}, syncing)
	for _, one := range ns.all {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(startTime):
			return fmt.Errorf("waiting for the first objects: %d of %d nodes have all of them; %+v", ns.synced.Load(), len(ns.all), ns.counters.now())
		}
		ns.running.Go(func() {
			one.watch(one.alive, func() {
				ns.synced.Add(1)
				<-slots
			})
		})
	}
	return ns.await(ctx, startTime, "first objects", func() bool { return ns.synced.Load() == int64(len(ns.all)) })
}

// watches is the number of watches of all nodes that live.
func (ns *nodes) watches() int64 { return int64(len(ns.all) * watchesOfNode) }

// awaitWatches waits until a share of all watches is open.
func (ns *nodes) awaitWatches(ctx context.Context, limit time.Duration, share float64) error {
	return ns.await(ctx, limit, "open watches", func() bool { return float64(ns.counters.open.Load()) >= share*float64(ns.watches()) })
}

// moveTime is the maximum time that the watches of some nodes have to come back, before the next nodes move.
const moveTime = 5 * time.Second

// move moves the nodes to another API proxy, a few at a time: in a cluster each has its own, and a proxy that
// all nodes leave together would be followed by a storm that no cluster has.
func (ns *nodes) move(ctx context.Context, address string) error {
	for i, n := range ns.all {
		n.kubelet.move(address)
		n.kubeProxy.move(address)
		if (i+1)%syncing != 0 {
			continue
		}
		missing := int64(syncing * watchesOfNode)
		err := ns.await(ctx, moveTime, "watches of moved nodes", func() bool { return ns.counters.open.Load() >= ns.watches()-missing })
		if err != nil && !errors.Is(err, errTimeout) {
			return err
		}
	}
	return nil
}

// await waits until reached returns true. errTimeout is the error after limit.
func (ns *nodes) await(ctx context.Context, limit time.Duration, what string, reached func() bool) error {
	end := time.After(limit)
	for !reached() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return fmt.Errorf("waiting for %s: %w after %s: %d of %d watches are open, %+v", what, errTimeout, limit, ns.counters.open.Load(), ns.watches(), ns.counters.now())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

var errTimeout = errors.New("timeout")

// stop ends all clients.
func (ns *nodes) stop() {
	ns.cancel()
	ns.running.Wait()
	for _, n := range ns.masters {
		n.kubelet.http.CloseIdleConnections()
	}
	for _, n := range ns.all {
		n.kubelet.http.CloseIdleConnections()
		n.kubeProxy.http.CloseIdleConnections()
	}
}
