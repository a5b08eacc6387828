package main

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// The prober makes a call at each interval, whether the former has ended or not, so that a slow API
// server has no fewer calls. A call fails after the timeout of client-go's users, 30 s.
const (
	probeInterval = 100 * time.Millisecond
	probeTimeout  = 30 * time.Second
	proberUser    = "scale-prober"
	probeMap      = "scale-probe"
)

// prober measures the latency of calls for single objects through the API proxy.
type prober struct {
	calls
	client *client
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// startProber starts a prober as a user that no priority level but the general one holds for.
func startProber(ctx context.Context, p *plane, address string) (*prober, error) {
	config, err := p.tlsConfig(proberUser)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	pr := &prober{client: newClient(address, config, &counters{}), cancel: cancel}
	paths := []string{"/api/v1/nodes/" + nodeName(0), "/api/v1/namespaces/" + namespace + "/services/" + appName(0), "", "/api/v1/namespaces/" + namespace + "/pods/" + appName(0) + "-00"}
	pr.group.Go(func() {
		ticks := time.NewTicker(probeInterval)
		defer ticks.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				pr.group.Go(func() { pr.probe(ctx, paths[i%len(paths)]) })
			}
		}
	})
	return pr, nil
}

// probe reads one object, or changes one when path is empty.
func (pr *prober) probe(ctx context.Context, path string) {
	timed, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	one := call{began: time.Now()}
	if path != "" {
		one.err = pr.client.do(timed, http.MethodGet, path, "", nil, nil)
	} else {
		patch := map[string]any{"data": map[string]any{"time": one.began.Format(time.RFC3339Nano)}}
		one.err = pr.client.do(timed, http.MethodPatch, "/api/v1/namespaces/"+namespace+"/configmaps/"+probeMap, patchType, patch, nil)
	}
	one.took = time.Since(one.began)
	if ctx.Err() == nil {
		pr.add(one)
	}
}

func (pr *prober) stop() {
	pr.cancel()
	pr.group.Wait()
	pr.client.http.CloseIdleConnections()
}
