package operations

import (
	"cmp"
	"strings"
	"sync"

	"deployer/engine"
)

// Snapshot is a snapshot of etcd that a run has saved.
type Snapshot struct {
	Place       string // host:path; empty for none
	Fingerprint string // of the key that authenticates it; empty for none
}

// Host returns the host that has saved the snapshot; empty for none.
func (s Snapshot) Host() string {
	host, _, _ := strings.Cut(s.Place, ":")
	return host
}

// SnapshotCollector collects the snapshot of etcd that the tasks of a run register. It is an
// engine.Sink, safe for concurrent use.
type SnapshotCollector struct {
	mu    sync.Mutex
	found Snapshot
}

// Emit implements engine.Sink.
func (c *SnapshotCollector) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if key, ok := e.ActionOutput()["fingerprint"].(string); ok {
		c.found.Fingerprint = key
	}
	out := e.Result.Output
	path, _ := out["path"].(string)
	newest, _ := e.ActionOutput()["host"].(string) // of etcd_newest_snapshot, behind snapshots of several hosts
	if path != "" && out["revision"] != nil && (c.found.Place == "" || newest != "") {
		c.found.Place = cmp.Or(newest, e.Host) + ":" + path
	}
}

// Found returns the snapshot.
func (c *SnapshotCollector) Found() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found
}
