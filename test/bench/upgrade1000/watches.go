package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"deployer/test/bench/kube"
)

// watches follow nodes and pods in two goroutines, until stop is called.
type watches struct {
	group  *errgroup.Group
	ctx    context.Context // is done when a watch has failed
	cancel context.CancelFunc
}

// startWatches counts nodes and pods in t from now on. The first events are the
// objects of the first list.
func startWatches(ctx context.Context, a *kube.API, t *tally) *watches {
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	w := &watches{group: group, ctx: ctx, cancel: cancel}
	group.Go(func() error { return kube.Watch(ctx, a, "/api/v1/nodes", t.node) })
	group.Go(func() error { return kube.Watch(ctx, a, "/api/v1/namespaces/default/pods", t.pod) })
	return w
}

// failed returns a channel that is closed after a watch has failed.
func (w *watches) failed() <-chan struct{} { return w.ctx.Done() }

// err ends both watches and returns the error of the one that failed.
func (w *watches) err() error {
	w.cancel()
	return w.group.Wait()
}

func (w *watches) stop() {
	w.cancel()
	_ = w.group.Wait()
}
