package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// load is what the clients of a load have done.
type load struct {
	mu       sync.Mutex
	took     []time.Duration // of requests that were served
	refused  int             // answered with 429
	failed   int             // other failures
	timedOut int             // without an answer within loadTimeout
}

// loadTimeout is the maximum time of a request of the load.
const loadTimeout = 30 * time.Second

// run lets each kubelet make requests in some workers, each worker one after the other, until ctx ends: as
// kubelets do after an outage, they list their pods, read their node and report its status. A third of
// the requests change an object.
func (l *load) run(ctx context.Context, all []*node, workers int) {
	var group sync.WaitGroup
	for _, n := range all {
		for w := range workers {
			group.Go(func() {
				for i := w; ctx.Err() == nil; i++ {
					l.request(ctx, n, i%3)
				}
			})
		}
	}
	group.Wait()
}

// request makes one request and counts it. A refused client waits for a second, as the API server
// says in Retry-After.
func (l *load) request(ctx context.Context, n *node, kind int) {
	timed, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	began := time.Now()
	var err error
	switch kind {
	case 0:
		err = n.kubelet.do(timed, http.MethodGet, kubeletWatches(n.name)[0]+"&resourceVersion=0", "", nil, nil)
	case 1:
		err = n.kubelet.do(timed, http.MethodGet, "/api/v1/nodes/"+n.name, "", nil, nil)
	case 2:
		err = n.kubelet.do(timed, http.MethodPatch, "/api/v1/nodes/"+n.name+"/status", patchType, statusPatch(began), nil)
	}
	took := time.Since(began)
	if ctx.Err() != nil {
		return
	}
	var status *statusError
	refused := errors.As(err, &status) && status.code == http.StatusTooManyRequests
	l.mu.Lock()
	switch {
	case err == nil:
		l.took = append(l.took, took)
	case refused:
		l.refused++
	case timed.Err() != nil:
		l.timedOut++
	default:
		l.failed++
	}
	l.mu.Unlock()
	if err != nil {
		_ = sleep(ctx, time.Second)
	}
}
