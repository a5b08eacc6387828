package record

import (
	"fmt"
	"testing"
	"time"

	"deployer/engine"
)

// BenchmarkEmit records the ends of steps of a run on 1000 hosts, a quarter of which have
// changed something, and packs them in chunks. It reports the bytes of the record by event.
func BenchmarkEmit(b *testing.B) {
	r, err := New(Options{Keepers: []string{"m1"}})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var events []engine.Event
	for i := range 4000 {
		at := time.Unix(1_700_000_000, int64(i)*1_234_567).UTC()
		host, step := fmt.Sprintf("n%04d", i*7919%1000), fmt.Sprint("1.fleet.", i/13)
		e := engine.Event{Time: at, Type: engine.EventStepEnd, Host: host, Step: step, Name: fmt.Sprint("main configuration ", i/13),
			Result: &engine.Result{Host: host, Step: step, Name: fmt.Sprint("main configuration ", i/13), Status: engine.StatusOK, Tries: 1, Started: at.Add(-98_765_432), Elapsed: time.Duration(i*7919%1_000_000) * 997}}
		if i%4 == 0 {
			e.Result.Status = engine.StatusChanged
			e.Result.Change = &engine.Change{Needed: true, Effects: []engine.Effect{{Kind: engine.EffectFile, Target: fmt.Sprintf("/etc/fleet/%d/main.conf", i/13), Action: "create", Diff: "--- a\n+++ b\n@@ -0,0 +1 @@\n+text\n"}}}
		}
		events = append(events, e)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		r.Emit(events[n%len(events)])
		if n++; n%len(events) == 0 {
			r.flush(MaxSize - reserved)
			if len(r.data) > MaxSize/2 {
				r.data = r.data[:0]
			}
		}
	}
	r.flush(MaxSize - reserved)
	b.ReportMetric(float64(len(r.data)%MaxSize)/float64(n), "record_B/op")
}
