package journal

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"deployer/engine"
)

// fullEvent has a value in every field that a line can have.
func fullEvent() engine.Event {
	at := time.Date(2026, 11, 22, 8, 30, 0, 120_000_000, time.FixedZone("", 3600))
	return engine.Event{Time: at, Type: engine.EventStepEnd, Host: "n1", Step: "1.web.3#2", Name: "say <\"é\">", Role: "web", Text: "a\nb",
		Bytes: 1, Total: 2, Result: &engine.Result{Host: "n1", Step: "1.web.3#2", Name: "say", Delegate: "n2", Status: engine.StatusFailed,
			Failure: &engine.Failure{Message: "no", Detail: "\x01\b\f\r\t\\\u2028\u2029\xff", Deterministic: true}, Ignored: true, RunOnce: true, Unknown: "u",
			MaxParallel: 3, Reason: "r", Tries: 2, Started: at.UTC(), Elapsed: time.Second, Secret: true,
			Change: &engine.Change{Needed: true, Wait: true, MissingDir: "/no", Effects: []engine.Effect{
				{Kind: engine.EffectFile, Target: "/x", Action: "create", Reason: "it is missing", Diff: "+a\n", Secret: true, Redacted: true}, {}}}}}
}

func TestLineIsThatOfJSON(t *testing.T) {
	full := fullEvent()
	for name, e := range map[string]engine.Event{
		"nothing":   {},
		"full":      full,
		"ok":        {Time: full.Time, Type: engine.EventStepEnd, Host: "n1", Result: &engine.Result{Step: "1", Status: engine.StatusOK}},
		"no change": {Type: engine.EventStepEnd, Result: &engine.Result{Status: engine.StatusOK, Change: &engine.Change{}}},
		"waits":     {Type: engine.EventStepEnd, Result: &engine.Result{Host: "n1", Change: &engine.Change{Wait: true}}},
		"output":    {Type: engine.EventStepEnd, Result: &engine.Result{Output: engine.Output{"a": "<"}}},
		"learned":   {Type: engine.EventStepEnd, Result: &engine.Result{Change: &engine.Change{Output: engine.Output{"a": 1}}}},
		"report":    {Type: engine.EventRunEnd, Report: &engine.Report{Run: "r", Hosts: []engine.HostReport{{Host: "n1", OK: 1}}}},
	} {
		t.Run(name, func(t *testing.T) { likeJSON(t, e) })
	}
}

// TestNoFieldIsForgotten fails when a struct gets a field that fullEvent, and so
// perhaps appendLine, does not know.
func TestNoFieldIsForgotten(t *testing.T) {
	e := fullEvent()
	r := e.Result
	e.Report, r.Output, r.Change.Output, r.Change.CheckState = &engine.Report{}, engine.Output{}, engine.Output{}, 1 // left to encoding/json
	r.Failure.Exit, r.Weight, r.OnController = 1, 1, true                                                            // stay in the process
	for _, v := range []any{e, *r, *r.Change, *r.Failure, r.Change.Effects[0]} {
		s := reflect.ValueOf(v)
		for i := range s.NumField() {
			if s.Field(i).IsZero() {
				t.Errorf("%T.%s is not tried", v, s.Type().Field(i).Name)
			}
		}
	}
}

func likeJSON(t *testing.T, e engine.Event) {
	t.Helper()
	want, err := plainJSON(line{Event: &e})
	if err != nil {
		t.Fatal(err)
	}
	got, err := appendLine(nil, &e)
	if err != nil || string(got) != string(want)+"\n" {
		t.Errorf("got  %s (%v)\nwant %s", got, err, want)
	}
}

func FuzzLine(f *testing.F) {
	seed, err := json.Marshal(fullEvent())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, "text")
	f.Add([]byte(`{"result":{"change":{"effects":[{}]}}}`), "\xe2\x80\xa8\x7f\xff\xed\xa0\x80\"<>&")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		var e engine.Event
		if json.Unmarshal(data, &e) != nil {
			return
		}
		if _, err := json.Marshal(e); err != nil {
			return // a year that has no form
		}
		e.Text = text
		likeJSON(t, e)
	})
}

func BenchmarkLine(b *testing.B) {
	e := engine.Event{Time: time.Now(), Type: engine.EventStepEnd, Host: "n0001", Step: "1.play.7", Name: "main configuration 3", Result: &engine.Result{
		Step: "1.play.7", Status: engine.StatusChanged, Tries: 1, Started: time.Now(), Elapsed: 12345678, Change: &engine.Change{Needed: true,
			Effects: []engine.Effect{{Kind: engine.EffectFile, Target: "/etc/fleet/3/main.conf", Action: "create", Diff: "--- a\n+++ b\n@@ -0,0 +1 @@\n+text\n"}}}}}
	var buf []byte
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = appendLine(buf[:0], &e)
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = plainJSON(line{Event: &e})
		}
	})
}
