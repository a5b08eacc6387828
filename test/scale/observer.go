package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"deployer/test/bench/kube"
)

// nodeState is what the observer reads of a Node.
type nodeState struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

func (n nodeState) ready() bool {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// podState is what the observer reads of a Pod.
type podState struct {
	Metadata struct {
		Name              string  `json:"name"`
		DeletionTimestamp *string `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func (p podState) running() bool {
	return p.Status.Phase == "Running" && p.Metadata.DeletionTimestamp == nil
}

// observer follows nodes and pods at an API server.
type observer struct {
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu       sync.Mutex
	ready    map[string]bool
	pods     map[string]podState
	evicted  map[string]time.Time // pods by the time at which their deletion was seen
	notReady map[string]time.Time // nodes by the time at which they were seen not Ready, since forget
}

func newObserver() *observer {
	return &observer{ready: map[string]bool{}, pods: map[string]podState{}, evicted: map[string]time.Time{}, notReady: map[string]time.Time{}}
}

// startObserver follows nodes and pods until stop is called.
func startObserver(ctx context.Context, a *kube.API) *observer {
	ctx, cancel := context.WithCancel(ctx)
	o := newObserver()
	o.cancel = cancel
	o.group.Go(func() { again(ctx, func() error { return kube.Watch(ctx, a, "/api/v1/nodes", o.node) }) })
	o.group.Go(func() {
		again(ctx, func() error {
			o.mu.Lock()
			o.pods = map[string]podState{} // the watch begins with all that exist
			o.mu.Unlock()
			return kube.Watch(ctx, a, "/api/v1/namespaces/"+namespace+"/pods", o.pod)
		})
	})
	return o
}

// again calls f until ctx ends, since a watch fails when its API server restarts.
func again(ctx context.Context, f func() error) {
	for ctx.Err() == nil {
		_ = f()
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (o *observer) node(kind string, n nodeState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := n.Metadata.Name
	was := o.ready[name]
	o.ready[name] = kind != "DELETED" && n.ready()
	if was && !o.ready[name] {
		o.notReady[name] = time.Now()
	}
}

func (o *observer) pod(kind string, p podState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := p.Metadata.Name
	_, seen := o.evicted[name]
	if (p.Metadata.DeletionTimestamp != nil || kind == "DELETED") && !seen {
		o.evicted[name] = time.Now()
	}
	if kind == "DELETED" {
		delete(o.pods, name)
	} else {
		o.pods[name] = p
	}
}

// forget forgets which nodes were not Ready and which pods were evicted.
func (o *observer) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.notReady)
	clear(o.evicted)
}

// readyNodes returns the number of nodes that are Ready.
func (o *observer) readyNodes() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	count := 0
	for _, ready := range o.ready {
		if ready {
			count++
		}
	}
	return count
}

// runningPods returns the number of pods that run on other nodes than those of without.
func (o *observer) runningPods(without map[string]bool) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	count := 0
	for _, p := range o.pods {
		if p.running() && !without[p.Spec.NodeName] {
			count++
		}
	}
	return count
}

// hasPodOf reports whether a Deployment has a pod.
func (o *observer) hasPodOf(deployment string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.pods {
		if strings.HasPrefix(name, deployment+"-") {
			return true
		}
	}
	return false
}

// podsOn returns the names of the pods of some nodes.
func (o *observer) podsOn(nodes map[string]bool) map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := map[string]bool{}
	for name, p := range o.pods {
		if nodes[p.Spec.NodeName] {
			names[name] = true
		}
	}
	return names
}

// spread returns the first and the last time of those of a map whose keys are among names, and their number.
func (o *observer) spread(times map[string]time.Time, names map[string]bool) (first, last time.Time, count int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, at := range times {
		if !names[name] {
			continue
		}
		count++
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last, count
}

// wereNotReady returns the number of nodes that were seen not Ready since forget.
func (o *observer) wereNotReady() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.notReady)
}

func (o *observer) stop() {
	o.cancel()
	o.group.Wait()
}
