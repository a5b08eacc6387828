package etcd

import (
	"fmt"
	"testing"

	"deployer/engine"
)

func TestRestoreRevision(t *testing.T) {
	t.Parallel()
	type host struct {
		revision any    // of its data
		recorded string // by an interrupted attempt
		replaced bool
		silent   bool
	}
	const snapshot = 5000
	for name, tt := range map[string]struct {
		hosts [3]host
		want  string
		wrong string
	}{
		"members have written since the snapshot": {[3]host{{revision: float64(5100)}, {revision: float64(5200)}, {revision: int64(0)}}, "1000000200", ""},
		"the snapshot was restored before":        {[3]host{{revision: float64(1_000_005_300)}, {revision: float64(1_000_005_200)}, {revision: float64(12)}}, "2000000300", ""},
		"empty hosts":                             {[3]host{{revision: 0}, {revision: 0}, {revision: 0}}, "1000000000", ""},
		"resumed, recorded on one host":           {[3]host{{revision: float64(5100)}, {revision: float64(6000), recorded: "1000000200\n"}, {revision: float64(5100)}}, "1000000200", ""},
		"resumed, one member is replaced": {[3]host{{revision: float64(1_000_005_200), recorded: "1000000200\n", replaced: true}, {revision: float64(5100), recorded: "1000000200\n"}, {revision: float64(5100), recorded: "1000000200"}},
			"1000000200", ""},
		"resumed after another restore": {[3]host{{revision: float64(2_000_005_300), recorded: "1000000200\n"}, {revision: float64(5100)}, {revision: float64(5100)}}, "", "begin another restore"},
		"different records":             {[3]host{{revision: 1, recorded: "1000000200"}, {revision: 1}, {revision: 1, recorded: "1000000300"}}, "", "m1 and m3 have recorded different numbers"},
		"no record":                     {[3]host{{revision: 1, recorded: "x"}, {revision: 1}, {revision: 1}}, "", "reading the record of the restore on m1"},
		"a host did not look":           {[3]host{{revision: 1}, {silent: true}, {revision: 1}}, "", `m2 did not report "etcd_revision"`},
		"beyond the numbers of etcd":    {[3]host{{revision: int64(1<<63 - 1)}, {revision: 1}, {revision: 1}}, "", "cannot be raised"},
	} {
		s := run(t, newFake("m1", "m2", "m3"), "m1", map[string]bool{"m1": true, "m2": true, "m3": true})
		for i, h := range tt.hosts {
			if h.silent {
				continue
			}
			files := map[string]any{}
			if h.recorded != "" {
				files["/var/lib/deployer/etcd-restore/1.bump"] = h.recorded
			}
			results := s.Results[fmt.Sprintf("m%d", i+1)]
			results["etcd_revision"] = engine.Output{"revision": h.revision}
			results["etcd_recorded"] = engine.Output{"files": files}
			results["etcd_before"] = engine.Output{"exists": h.replaced}
		}
		action := &RestoreRevision{Snapshot: snapshot, Found: "etcd_revision", Recorded: "etcd_recorded", Replaced: "etcd_before"}
		change, err := action.Check(t.Context(), s)
		requireError(t, name, err, tt.wrong)
		if got, _ := change.Output["bump"].(string); got != tt.want || change.Needed {
			t.Errorf("%s: %v, want %s", name, change.Output, tt.want)
		}
	}
}
