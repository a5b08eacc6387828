package main

import (
	"testing"
)

func TestObserver(t *testing.T) {
	o := newObserver()
	condition := func(name, status string) (n nodeState) {
		n.Metadata.Name = name
		n.Status.Conditions = append(n.Status.Conditions, struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		}{"Ready", status})
		return n
	}
	pod := func(name, node, phase string, deleted bool) (p podState) {
		p.Metadata.Name, p.Spec.NodeName, p.Status.Phase = name, node, phase
		if deleted {
			at := "2026-11-28T00:00:00Z"
			p.Metadata.DeletionTimestamp = &at
		}
		return p
	}
	o.node("ADDED", condition("n1", "True"))
	o.node("ADDED", condition("n2", "Unknown"))
	o.node("MODIFIED", condition("n1", "Unknown"))
	o.pod("ADDED", pod("a-1", "n1", "Running", false))
	o.pod("ADDED", pod("a-2", "n2", "Running", false))
	o.pod("ADDED", pod("a-3", "n2", "Pending", false))
	o.pod("MODIFIED", pod("a-1", "n1", "Running", true))
	dead := map[string]bool{"n1": true}
	if o.readyNodes() != 0 || o.wereNotReady() != 1 {
		t.Errorf("%d nodes are Ready, %d were not: only n1 was Ready before", o.readyNodes(), o.wereNotReady())
	}
	if o.runningPods(nil) != 1 || o.runningPods(map[string]bool{"n2": true}) != 0 {
		t.Errorf("%d pods run, %d on other nodes than n2", o.runningPods(nil), o.runningPods(map[string]bool{"n2": true}))
	}
	if first, last, n := o.spread(o.evicted, o.podsOn(dead)); n != 1 || first.IsZero() || !first.Equal(last) {
		t.Errorf("%d pods of n1 are evicted, from %s to %s", n, first, last)
	}
	o.pod("DELETED", pod("a-1", "n1", "Running", true))
	if len(o.podsOn(dead)) != 0 || !o.hasPodOf("a") || o.hasPodOf("b") {
		t.Error("pods of n1 or of apps are wrong")
	}
	o.forget()
	if o.wereNotReady() != 0 {
		t.Error("nodes that were not Ready are not forgotten")
	}
}
