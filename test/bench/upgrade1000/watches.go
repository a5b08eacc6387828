package main

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// watches follow nodes and pods in two goroutines, until stop.
type watches struct {
	group  *errgroup.Group
	ctx    context.Context // ends when a watch has failed
	cancel context.CancelFunc
}

// startWatches begins to count in t. Events come behind those of the first list.
func startWatches(ctx context.Context, a *api, t *tally) *watches {
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	w := &watches{group: group, ctx: ctx, cancel: cancel}
	group.Go(func() error { return watch(ctx, a, "/api/v1/nodes", t.node) })
	group.Go(func() error { return watch(ctx, a, "/api/v1/namespaces/default/pods", t.pod) })
	return w
}

// failed returns a channel that is closed when a watch has failed.
func (w *watches) failed() <-chan struct{} { return w.ctx.Done() }

// err returns the failure of a watch; it ends both.
func (w *watches) err() error {
	w.cancel()
	return w.group.Wait()
}

func (w *watches) stop() {
	w.cancel()
	_ = w.group.Wait()
}
