package etcd

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

func TestNewestSnapshot(t *testing.T) {
	t.Parallel()
	saved := func(revision any) engine.Output {
		return engine.Output{"path": "/s/run.db", "revision": revision}
	}
	const dryRun = "a dry run"
	for name, tt := range map[string]struct {
		saved map[string]engine.Output
		want  engine.Output
		wrong string
	}{
		"an unknown revision": {map[string]engine.Output{"m1": saved(float64(40)), "m2": {"path": "/s/run.db"}}, nil, "the revision of the snapshot m2:/s/run.db is unknown"},
		"the highest revision": {map[string]engine.Output{"m1": saved(float64(40)), "m2": saved(float64(1_000_000_041)), "m3": saved(int64(41))},
			engine.Output{"host": "m2", "path": "/s/run.db", "revision": int64(1_000_000_041), "saved": 3}, ""},
		"one host has a snapshot": {map[string]engine.Output{"m3": saved(12)},
			engine.Output{"host": "m3", "path": "/s/run.db", "revision": int64(12), "saved": 1}, ""},
		"a host that failed": {map[string]engine.Output{"m1": {"path": "/s/run.db", "revision": 99, "failed": true}, "m2": saved(12)},
			engine.Output{"host": "m2", "path": "/s/run.db", "revision": int64(12), "saved": 1}, ""},
		"equal revisions": {map[string]engine.Output{"m1": saved(12), "m2": saved(12)},
			engine.Output{"host": "m1", "path": "/s/run.db", "revision": int64(12), "saved": 2}, ""},
		dryRun: {map[string]engine.Output{"m1": {"path": "/s/run.db"}},
			engine.Output{"host": "m1", "path": "/s/run.db", "revision": int64(0), "saved": 1}, ""},
		"no snapshot": {map[string]engine.Output{"m1": {"skipped": true}}, nil, "no host has saved a snapshot"},
	} {
		s := run(t, newFake("m1", "m2", "m3"), "m1", map[string]bool{"m1": true, "m2": true, "m3": true})
		s.Check = name == dryRun
		for host, out := range tt.saved {
			s.Results[host]["etcd_snapshot"] = out
		}
		change, err := (&NewestSnapshot{Saved: "etcd_snapshot"}).Check(t.Context(), s)
		requireError(t, name, err, tt.wrong)
		if diff := cmp.Diff(tt.want, change.Output); diff != "" || change.Needed {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
