package record

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/jsonappend"
)

// recordOf returns a record with these lines, each a chunk of its own.
func recordOf(lines ...string) []byte {
	data := appendChunk(appendFormat(nil), []byte(`{"header":{"format":1,"run":"r1"}}`+"\n"))
	for _, line := range lines {
		data = appendChunk(data, []byte(line+"\n"))
	}
	return data
}

// TestMemoryOfALine checks that a line which would take many times its length in memory is
// damage, and is not decoded.
func TestMemoryOfALine(t *testing.T) {
	list := func(element string, n int) string { return "[" + strings.Repeat(element+",", n) + element + "]" }
	for name, line := range map[string]string{
		"output of a step": `{"event":{"type":"step.end","host":"a","step":"s","result":{"status":"ok","output":{"a":` + list("{}", 5_000_000) + `}}}}`,
		"members":          `{"event":{"type":"step.end","result":{"status":"ok","change":{"output":{"a":` + list(`{"":0}`, 2_000_000) + `}}}}}`,
		"effects":          `{"event":{"type":"step.end","result":{"status":"ok","change":{"effects":` + list("{}", 5_000_000) + `}}}}`,
		"hosts of a run":   `{"event":{"type":"run.end","report":{"hosts":` + list("{}", 5_000_000) + `}}}`,
		"with an escape":   `{"event":{"type":"warning","text":"\u001b","result":{"output":{"a":` + list("{}", 5_000_000) + `}}}}`,
	} {
		data := recordOf(`{"event":{"type":"warning","text":"before"}}`, line)
		if len(data) > 64<<10 {
			t.Fatalf("%s: the record has %d bytes", name, len(data))
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		got, err := decode("r1", data)
		runtime.ReadMemStats(&after)
		if err != nil || got.Damaged == nil || !strings.Contains(got.Damaged.Error(), "MiB of memory") || len(got.events) != 1 {
			t.Errorf("%s: %+v, %v", name, got.Content, err)
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 64 { // the chunk itself has 16
			t.Errorf("%s: %d MiB were allocated", name, mib)
		}
	}
}

// TestLargeReport checks that the report of a large run is not taken for an attack.
func TestLargeReport(t *testing.T) {
	report := &engine.Report{Run: "r1"}
	for i := range 10_000 {
		report.Hosts = append(report.Hosts, engine.HostReport{Host: fmt.Sprintf("rack%02d-node%05d", i%40, i), OK: 300, Changed: 20, Skipped: 40, Failed: 1,
			Failure: &engine.Failure{Message: "the unit kubelet.service does not run", Detail: strings.Repeat("kubelet: line\n", 10)}, FailedStep: "kubelet runs"})
	}
	keeper := newMemoryKeeper()
	r := newRecorder(t, Options{Keepers: []string{"m1"}})
	r.Attach(t.Context(), "m1", keeper)
	r.Emit(engine.Event{Time: began, Type: engine.EventRunEnd, Report: report})
	r.Close()
	got, err := decode("r1", keeper.content())
	t.Logf("the report takes %d MiB", jsonappend.Weigh(got.lines)>>20)
	if err != nil || got.Damaged != nil || len(got.events) != 1 || len(got.events[0].Report.Hosts) != 10_000 {
		t.Errorf("%v, %v", got.Content, err)
	}
	if outcome, err := Outcome(t.Context(), "r1", keeper.content()); err != nil || outcome == nil {
		t.Errorf("the outcome: %d bytes, %v", len(outcome), err)
	}
}

// TestDecodeEnds checks that the end of the context ends the decoding.
func TestDecodeEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	slow := errors.New("it took too long")
	data := recordOf(strings.TrimSuffix(strings.Repeat(`{"event":{"type":"warning","text":"x"}}`+"\n", 1000), "\n"))
	events := 0
	_, err := Decode(ctx, "r1", data, func(_ *journal.Header, e *engine.Event, _ []byte) error {
		if e != nil {
			if events++; events == 10 {
				cancel(slow)
			}
		}
		return nil
	})
	if !errors.Is(err, slow) || events != 10 {
		t.Errorf("%v after %d events", err, events)
	}
	if _, err := Outcome(ctx, "r1", data); !errors.Is(err, slow) {
		t.Errorf("the outcome: %v", err)
	}
}

// TestNamesAreLines checks that texts of a record which are shown in rows have no line ends,
// tabs and control characters, in whatever way the host writes them, and that details and
// values keep theirs.
func TestNamesAreLines(t *testing.T) {
	header := `{"header":{"format":1,"run":"r1","by":"ann\nROW","deployer":"v1\tx","call":{"verb":"install\n20990101  ROW","playbook":"/a\u000ab","limit":"w\r\nROW","tags":["a\nROW"],` +
		`"extra":{"a\nb":"line\nline"},"withheld":["t\nROW"],"joining":["\u2028ROW"]},"files":{"/x\ny":"1"},"versions":{"k\ns":"v\n1"}}}` + "\n"
	event := `{"event":{"type":"step.end","host":"n1\nROW","step":"1\n2","NAME":"s\nROW","role":"r\nROW","text":"t\nROW","result":{"status":"o\nk","delegate":"d\nROW","reason":"r\nROW",` +
		`"failure":{"message":"m\nROW","detail":"one\ntwo"},"change":{"lacks":"l\nROW","effects":[{"kind":"f\nROW","target":"t\nROW","action":"a\nROW","diff":"+a\n+b\n"}]}}}}`
	end := `{"event":{"type":"run.end","report":{"run":"r\nROW","aborted":"a\nROW","left":["l\nROW"],"paused":["p\nROW"],"hosts":[{"host":"h\nROW","failed_step":"f\nROW"}]}}}`
	data := appendChunk(appendChunk(appendFormat(nil), []byte(header)), []byte(event+"\n"+end+"\n"))
	got, err := decode("r1", data)
	if err != nil || got.Damaged != nil || len(got.events) != 2 {
		t.Fatalf("%v, %v", got.Content, err)
	}
	if e := got.events[0]; e.Host != "n1 ROW" || e.Name != "s ROW" || e.Result.Failure.Detail != "one\ntwo" || e.Result.Change.Effects[0].Diff != "+a\n+b\n" {
		t.Errorf("%+v", e)
	}
	if h := got.header; h.Invocation.Extra["a b"] != "line\nline" || h.Invocation.Verb != "install 20990101  ROW" || h.Invocation.Limit != "w ROW" {
		t.Errorf("%+v", h)
	}
	got.events[0].Result.Failure.Detail, got.events[0].Result.Change.Effects[0].Diff, got.header.Invocation.Extra = "", "", nil
	if all := fmt.Sprintf("%+v %+v %+v %+v %+v", got.header, got.header.Invocation, got.events[0], got.events[0].Result, *got.events[1].Report); strings.ContainsAny(all, "\n\t\r\u2028\x1b") {
		t.Errorf("%q", all)
	}
}
