package main

import (
	"reflect"
	"testing"
	"time"
)

// TestKeeperResult: events of keepers are judged by what is known of the nodes that died.
func TestKeeperResult(t *testing.T) {
	began := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	d := &deaths{began: began,
		nodes: map[string]*deadNode{"n1": {unknown: at(50), gone: at(360)}, "n2": {unknown: at(60), gone: at(375)}},
		pods: map[string]*deadPod{
			"u1": {node: "n1", deleted: at(80), gone: at(115)},  // due at 110, unknown for a minute
			"u2": {node: "n2", deleted: at(200), gone: at(245)}, // due at 230, deleted for 30 s
			"u3": {node: "n2", deleted: at(360), gone: at(380)}, // with its Node
		},
		others: map[string]bool{"n7": true},
	}
	event := func(kind, reason, name, uid string) (e keeperEvent) {
		e.Type, e.Reason, e.InvolvedObject.Name, e.InvolvedObject.UID = kind, reason, name, uid
		return e
	}
	var r keeperResult
	r.add(d, []keeperEvent{
		event("Normal", "ForceDeletePod", "a", "u1"), event("Normal", "ForceDeletePod", "b", "u2"),
		event("Normal", "PurgeNode", "n1", ""), event("Normal", "PurgeNode", "n2", ""),
		event("Warning", "PurgeNode", "n2", ""), event("Normal", "ForceDeletePod", "c", "u9"), event("Normal", "PurgeNode", "n9", ""),
	})
	want := keeperResult{Cleared: 2, WithNode: 1, Purged: 2, LastPod: 245, LastNode: 375, ClearP50: 5, ClearMax: 15, PurgeFirst: 10, PurgeMax: 15, Failed: 1, Wrong: 3}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

func TestNodeAddresses(t *testing.T) {
	for i, want := range map[int]string{0: "10.99.0.16", 999: "10.99.3.247"} {
		if got := nodeAddress(i); got != want {
			t.Errorf("node %d has address %s, want %s, which nodeNetworks has", i, got, want)
		}
	}
}
