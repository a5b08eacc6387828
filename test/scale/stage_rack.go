package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// rackResult has the figures of a rack that dies. Times are from its death.
type rackResult struct {
	Nodes         int     `json:"nodes"`
	All           int     `json:"all"` // nodes of the cluster
	Pods          int     `json:"pods"`
	FirstNotReady float64 `json:"first_not_ready"`
	LastNotReady  float64 `json:"last_not_ready"`
	FirstEvicted  float64 `json:"first_evicted"`
	LastEvicted   float64 `json:"last_evicted"`
	Replaced      float64 `json:"replaced"` // until as many pods run on other nodes as before
	Others        int     `json:"others"`   // other nodes that were seen not Ready
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
	Failed        int     `json:"failed"`
	EvictAfter    float64 `json:"evict_after"` // tolerationSeconds of the pods
}

// rackNodes is the number of nodes of a rack, as in `make bench-spread`.
const rackNodes = 40

// rackLimit is the maximum time until all pods of the rack are replaced.
const rackLimit = 25 * time.Minute

// rackStage ends the kubelets and kube-proxies of a rack, without a word to the API.
func (s *site) rackStage(ctx context.Context) (*rackResult, error) {
	r := &rackResult{Nodes: min(rackNodes, s.options.nodes/5), All: s.options.nodes, EvictAfter: evictAfter.Seconds()}
	if r.Nodes == 0 {
		return nil, fmt.Errorf("%d nodes are too few for a rack that dies", s.options.nodes)
	}
	dead := map[string]bool{}
	for _, n := range s.nodes.all[len(s.nodes.all)-r.Nodes:] {
		dead[n.name] = true
	}
	pods := s.observer.podsOn(dead)
	r.Pods = len(pods)
	s.observer.forget()
	began := time.Now()
	for _, n := range s.nodes.all[len(s.nodes.all)-r.Nodes:] {
		n.die()
	}
	s.nodes.all = s.nodes.all[:len(s.nodes.all)-r.Nodes]
	if err := s.await(ctx, "pods in place of those of the rack", rackLimit, func() bool {
		_, _, gone := s.observer.spread(s.observer.evicted, pods)
		return gone == len(pods) && s.observer.runningPods(dead) >= s.options.pods
	}); err != nil {
		_, _, gone := s.observer.spread(s.observer.evicted, pods)
		return nil, fmt.Errorf("%w: %d of %d pods are evicted, %d run elsewhere", err, gone, len(pods), s.observer.runningPods(dead))
	}
	end := time.Now()
	since := func(t time.Time) float64 { return t.Sub(began).Seconds() }
	first, last, count := s.observer.spread(s.observer.notReady, dead)
	r.FirstNotReady, r.LastNotReady, r.Others = since(first), since(last), s.observer.wereNotReady()-count
	first, last, _ = s.observer.spread(s.observer.evicted, pods)
	r.FirstEvicted, r.LastEvicted, r.Replaced = since(first), since(last), since(end)
	took, failed := s.prober.between(began, end)
	r.P50, r.P99, r.Failed = milliseconds(took, 50), milliseconds(took, 99), failed
	fmt.Fprintf(s.out, "%+v\n", *r)
	return r, nil
}

// leaderResult has the figures of leaders that die.
type leaderResult struct {
	Acts []float64 `json:"acts"` // from the death of the leader until the next one has created a pod
}

// leaderRounds is the number of leaders that die, one after the other.
const leaderRounds = 3

// leaderStage kills the controller manager that leads, creates a Deployment at the same time, and waits for its pod.
func (s *site) leaderStage(ctx context.Context) (*leaderResult, error) {
	r := &leaderResult{}
	for i := range leaderRounds {
		took, err := s.leader(ctx, fmt.Sprintf("leader-%d-%d", i, rand.N(100000)))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(s.out, "the controller manager's leader was killed: the next one acts after %.1f s\n", took)
		r.Acts = append(r.Acts, took)
	}
	return r, nil
}

func (s *site) leader(ctx context.Context, name string) (float64, error) {
	var lease struct {
		Spec struct {
			HolderIdentity string `json:"holderIdentity"`
		} `json:"spec"`
	}
	if err := s.plane.api().Do(ctx, http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager", nil, &lease); err != nil {
		return 0, err
	}
	host, _, _ := strings.Cut(lease.Spec.HolderIdentity, "_")
	var leads *master
	for _, m := range s.plane.masters {
		if m.node.Name == host {
			leads = m
		}
	}
	if leads == nil {
		return 0, fmt.Errorf("the leader of the controller managers is %q, which is no master", lease.Spec.HolderIdentity)
	}
	began := time.Now()
	leads.running[controllerProcess].Kill()
	delete(leads.running, controllerProcess)
	if err := s.plane.api().Do(ctx, http.MethodPost, "/apis/apps/v1/namespaces/"+namespace+"/deployments", deployment(name, 1), nil); err != nil {
		return 0, err
	}
	if err := s.await(ctx, "a pod of the next leader", startTime, func() bool { return s.observer.hasPodOf(name) }); err != nil {
		return 0, err
	}
	took := time.Since(began).Seconds()
	return took, leads.startControllerManager()
}
