package operations

import (
	"testing"

	"deployer/engine"
)

// TestSnapshotOfABackup: the backup is the snapshot with the highest revision, whichever
// host reports the comparison.
func TestSnapshotOfABackup(t *testing.T) {
	t.Parallel()
	online, offline := &SnapshotCollector{}, &SnapshotCollector{}
	emit := func(u engine.Sink, host string, out engine.Output) {
		u.Emit(engine.Event{Type: engine.EventStepEnd, Host: host, Result: &engine.Result{Output: out, OnController: out["saved"] != nil}})
	}
	emit(online, "m2", engine.Output{"path": "/s/1.db", "revision": float64(7)})
	emit(offline, "m1", engine.Output{"path": "/s/1.db", "revision": float64(7)})
	emit(offline, "m3", engine.Output{"path": "/s/1.db", "revision": float64(9)})
	emit(offline, "m1", engine.Output{"host": "m3", "path": "/s/1.db", "revision": int64(9), "saved": 2})
	if online.Found().Host() != "m2" || offline.Found().Place != "m3:/s/1.db" {
		t.Errorf("%+v, %+v", online.Found(), offline.Found())
	}
	hostile, versions := &SnapshotCollector{}, &versionCollector{}
	emit(hostile, "m2", engine.Output{"path": "/s/1.db", "revision": float64(7)})
	for _, sink := range []engine.Sink{hostile, versions} {
		emit(sink, "m3", engine.Output{"host": "m1", "path": "/s/9.db", "revision": float64(9), "fingerprint": "forged", "changes": []any{map[string]any{"component": "etcd", "host": "m1"}}})
	}
	if got := hostile.Found(); got != (Snapshot{Place: "m2:/s/1.db"}) || len(versions.changes().Changes) > 0 {
		t.Errorf("a module of one host decides: %+v, %+v", got, versions.changes())
	}
}
