package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// namespace is the namespace of the benchmark's objects.
const namespace = "default"

// kubeletWatches are the watches of a kubelet v1.36: pods of the node (pkg/kubelet/config/apiserver.go), the
// node and all Services (pkg/kubelet/kubelet.go), CSI drivers (volume_host.go), runtime classes
// (runtimeclass_manager.go), and each ConfigMap and Secret that pods of the node use
// (util/manager/watch_based_manager.go): here the authority that every pod has in its service account volume.
func kubeletWatches(node string) []string {
	return []string{
		"/api/v1/pods?fieldSelector=spec.nodeName%3D" + node,
		"/api/v1/nodes?fieldSelector=metadata.name%3D" + node,
		"/api/v1/services?",
		"/apis/storage.k8s.io/v1/csidrivers?",
		"/apis/node.k8s.io/v1/runtimeclasses?",
		"/api/v1/namespaces/" + namespace + "/configmaps?fieldSelector=metadata.name%3Dkube-root-ca.crt",
	}
}

// kubeProxyWatches are the watches of a kube-proxy v1.36 (cmd/kube-proxy/app/server.go).
func kubeProxyWatches(node string) []string {
	const notHeadless = "labelSelector=%21service.kubernetes.io%2Fheadless%2C%21service.kubernetes.io%2Fservice-proxy-name"
	return []string{
		"/api/v1/services?" + notHeadless,
		"/apis/discovery.k8s.io/v1/endpointslices?" + notHeadless,
		"/apis/networking.k8s.io/v1/servicecidrs?",
		"/api/v1/nodes?fieldSelector=metadata.name%3D" + node,
	}
}

// watchesOfNode is the number of watches that a node has.
var watchesOfNode = len(kubeletWatches("")) + len(kubeProxyWatches(""))

// The times of a kubelet (k8s.io/kubernetes, pkg/kubelet/apis/config/v1beta1/defaults.go and kubelet.go): a Lease
// of 40 s is renewed every 10 s with at most five attempts, and the status of the node every 5 minutes.
const (
	leaseSeconds  = 40
	leaseInterval = 10 * time.Second
	leaseAttempts = 5
	statusTime    = 5 * time.Minute
)

// node is a kubelet and a kube-proxy, without containers and rules.
type node struct {
	name               string
	kubelet, kubeProxy *client
	alive              context.Context
	die                context.CancelFunc
	lease              map[string]any
	renewed            time.Time // when the Lease was last renewed
}

// live renews the Lease and reports the status until ctx ends.
func (n *node) live(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { every(ctx, leaseInterval, n.renew) })
	group.Go(func() { every(ctx, statusTime, n.report) })
	group.Wait()
}

// watch keeps the watches open until ctx ends. It calls synced once, when all watches have all objects.
func (n *node) watch(ctx context.Context, synced func()) {
	var group, first sync.WaitGroup
	first.Add(watchesOfNode)
	for _, part := range []struct {
		client *client
		paths  []string
	}{{n.kubelet, kubeletWatches(n.name)}, {n.kubeProxy, kubeProxyWatches(n.name)}} {
		for _, path := range part.paths {
			w := &watcher{client: part.client, path: path, synced: first.Done}
			group.Go(func() { w.run(ctx) })
		}
	}
	go func() {
		first.Wait()
		synced()
	}()
	group.Wait()
}

// every calls f after a random part of an interval, and then at each interval.
func every(ctx context.Context, interval time.Duration, f func(context.Context)) {
	timer := time.NewTimer(rand.N(interval))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(interval)
			f(ctx)
		}
	}
}

// renew renews the Lease of the node.
func (n *node) renew(ctx context.Context) {
	const path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	for range leaseAttempts {
		attempt, cancel := context.WithTimeout(ctx, leaseInterval)
		method, name := http.MethodPut, "/"+n.name
		if n.lease == nil {
			method, name = http.MethodPost, ""
			n.lease = map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": n.name}}
		}
		n.lease["spec"] = map[string]any{"holderIdentity": n.name, "leaseDurationSeconds": leaseSeconds, "renewTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00")}
		var answer map[string]any
		err := n.kubelet.do(attempt, method, path+name, jsonType, n.lease, &answer)
		if err == nil {
			n.lease = answer
			cancel()
			// The node has become Unknown meanwhile, which only its kubelet changes back.
			if late := !n.renewed.IsZero() && time.Since(n.renewed) > leaseSeconds*time.Second; late {
				n.report(ctx)
			}
			n.renewed = time.Now()
			return
		}
		// Somebody has the Lease already: a former run of this node, or an answer that got lost.
		var status *statusError
		if errors.As(err, &status) && status.code == http.StatusConflict {
			if n.kubelet.do(attempt, http.MethodGet, path+"/"+n.name, "", nil, &answer) == nil {
				n.lease = answer
			}
		} else if method == http.MethodPost {
			n.lease = nil
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
	}
	n.kubelet.counters.late.Add(1)
}

// report reports the status of the node.
func (n *node) report(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaseInterval)
	defer cancel()
	if err := n.kubelet.do(ctx, http.MethodPatch, "/api/v1/nodes/"+n.name+"/status", patchType, statusPatch(time.Now()), nil); err != nil && ctx.Err() == nil {
		n.kubelet.counters.failed.Add(1)
	}
}

// statusPatch is a change of a node's status, of which only the time is new, unless the node was Unknown.
func statusPatch(now time.Time) map[string]any {
	return map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "lastHeartbeatTime": now.UTC().Format(time.RFC3339)}}}}
}
