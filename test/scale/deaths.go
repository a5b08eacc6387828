package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"deployer/test/bench/kube"
)

// deaths follows nodes that are going to die, and their pods, at an API server.
type deaths struct {
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.Mutex
	began  time.Time
	nodes  map[string]*deadNode
	pods   map[string]*deadPod // by UID
	others map[string]bool     // other nodes that were deleted
}

type deadNode struct {
	listed        bool
	unknown, gone time.Time
}

type deadPod struct {
	name, node    string
	deleted, gone time.Time
}

// deathNode and deathPod are what deaths reads of objects.
type deathNode struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status struct {
		Conditions []struct {
			Type               string    `json:"type"`
			Status             string    `json:"status"`
			LastTransitionTime time.Time `json:"lastTransitionTime"`
		} `json:"conditions"`
	} `json:"status"`
}

type deathPod struct {
	Metadata struct {
		Name                       string     `json:"name"`
		UID                        string     `json:"uid"`
		DeletionTimestamp          *time.Time `json:"deletionTimestamp"`
		DeletionGracePeriodSeconds int        `json:"deletionGracePeriodSeconds"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
}

// watchDeaths follows the nodes with some names until stop is called.
func watchDeaths(ctx context.Context, a *kube.API, names []string) *deaths {
	ctx, cancel := context.WithCancel(ctx)
	d := &deaths{cancel: cancel, nodes: map[string]*deadNode{}, pods: map[string]*deadPod{}, others: map[string]bool{}}
	for _, name := range names {
		d.nodes[name] = &deadNode{}
	}
	d.group.Go(func() { again(ctx, func() error { return kube.Watch(ctx, a, "/api/v1/nodes", d.node) }) })
	d.group.Go(func() {
		again(ctx, func() error { return kube.Watch(ctx, a, "/api/v1/namespaces/"+namespace+"/pods", d.pod) })
	})
	return d
}

func (d *deaths) node(kind string, o deathNode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[o.Metadata.Name]
	switch {
	case n == nil && kind == "DELETED":
		d.others[o.Metadata.Name] = true
	case n == nil:
	case kind == "DELETED":
		n.gone = time.Now()
	default:
		n.listed = true
		for _, c := range o.Status.Conditions {
			if c.Type == "Ready" && c.Status == "Unknown" {
				n.unknown = c.LastTransitionTime
			}
		}
	}
}

func (d *deaths) pod(kind string, o deathPod) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes[o.Spec.NodeName] == nil {
		return
	}
	p := d.pods[o.Metadata.UID]
	if p == nil {
		p = &deadPod{name: o.Metadata.Name, node: o.Spec.NodeName}
		d.pods[o.Metadata.UID] = p
	}
	if at := o.Metadata.DeletionTimestamp; at != nil && p.deleted.IsZero() {
		p.deleted = at.Add(-time.Duration(o.Metadata.DeletionGracePeriodSeconds) * time.Second)
	}
	if kind == "DELETED" {
		p.gone = time.Now()
	}
}

// knows reports whether n nodes and a pod of each are known.
func (d *deaths) knows(n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	with := map[string]bool{}
	for _, p := range d.pods {
		with[p.node] = true
	}
	for _, node := range d.nodes {
		if !node.listed {
			return false
		}
	}
	return len(with) == n
}

// podNames returns the names of all pods on the nodes.
func (d *deaths) podNames() (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pods {
		names = append(names, p.name)
	}
	return names
}

// begin is called when the nodes die.
func (d *deaths) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.began = time.Now()
}

// over reports whether all nodes and all pods on them are gone.
func (d *deaths) over() bool {
	nodes, pods := d.left()
	return nodes+pods == 0
}

func (d *deaths) left() (nodes, pods int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.nodes {
		if n.gone.IsZero() {
			nodes++
		}
	}
	for _, p := range d.pods {
		if p.gone.IsZero() {
			pods++
		}
	}
	return nodes, pods
}

func (d *deaths) String() string {
	nodes, pods := d.left()
	return fmt.Sprintf("%d of %d dead nodes and %d of %d pods on them are left", nodes, len(d.nodes), pods, len(d.pods))
}

func (d *deaths) stop() {
	d.cancel()
	d.group.Wait()
}
