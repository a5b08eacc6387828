package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

var (
	fullStep = engine.Step{ID: "3#1", Name: "a \"name\" <é>", Module: "file", Args: json.RawMessage(`{"Path":"/x","Content":"<\n\u00e9>"}`),
		OnChange: []string{"1", "2"}, Notifies: []string{"reload"}, Handles: "restart", IgnoreErrors: true, Retries: 3, Delay: time.Second,
		Timeout: time.Minute, Expect: &engine.Expect{Effects: []string{"ab"}, Targets: []string{"file /x"}}, User: "web", Env: []string{"A=1"}, Secret: true}
	fullResult = engine.Result{Step: "3#1", Status: engine.StatusFailed, Ignored: true, Reason: "no reason", Tries: 3, Secret: true,
		Started: time.Date(2026, 11, 22, 8, 0, 0, 7, time.UTC), Elapsed: 17 * time.Millisecond,
		Failure: &engine.Failure{Message: "no", Detail: "not at all\n", Deterministic: true},
		Change: &engine.Change{Needed: true, Wait: true, MissingDir: "/no", Output: engine.Output{"found": "it"}, Effects: []engine.Effect{
			{Kind: engine.EffectFile, Target: "/x", Action: "create", Reason: "no", Diff: "+é\n"}, {Kind: engine.EffectUnit, Target: "a", Action: "b", Reason: "c", Secret: true, Redacted: true}}},
		Output: engine.Output{"lines": []any{"a", 1.5, nil, true}, "": map[string]any{}}}
	plainResult = engine.Result{Step: "1.play.1", Status: engine.StatusOK, Tries: 1, Started: fullResult.Started, Elapsed: time.Microsecond}
)

func TestSegment(t *testing.T) {
	for name, seg := range map[string]engine.Segment{
		"empty segment": {},
		"one step":      {Run: "r1", Steps: []engine.Step{{ID: "1", Args: json.RawMessage("{}")}}},
		"check mode":    {Run: "r1", CheckOnly: true, Steps: []engine.Step{fullStep, {ID: "4", Args: json.RawMessage(`[1]`)}, fullStep}},
		"unlocked":      {Run: "r \"1\"", ResumedRuns: []string{"r0", "r"}, Unlocked: true, Steps: []engine.Step{fullStep}},
	} {
		data, err := AppendSegment(nil, seg)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := ReadSegment(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(seg, got); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", name, diff)
		}
		for cut := range data {
			if _, err := ReadSegment(data[:cut]); err == nil {
				t.Errorf("%s: %d of %d bytes are a segment as well", name, cut, len(data))
			}
		}
		if _, err := ReadSegment(append(data, 0)); err == nil {
			t.Errorf("%s: with a byte too many it is a segment as well", name)
		}
	}
}

func TestNoArguments(t *testing.T) {
	data, err := AppendSegment(nil, engine.Segment{Steps: []engine.Step{{ID: "1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadSegment(data); err != nil || string(got.Steps[0].Args) != "null" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// readAll reads results without their weights, which are not encoded.
func readAll(data []byte) (out []engine.Result, err error) {
	err = ReadResults(data, func(r engine.Result) error {
		if r.Weight <= 0 {
			return errors.New("a result that weighs nothing")
		}
		r.Weight = 0
		out = append(out, r)
		return nil
	})
	return out, err
}

func TestResults(t *testing.T) {
	want := []engine.Result{fullResult, plainResult, {Step: "skipped", Status: engine.StatusSkipped}, fullResult}
	var data []byte
	for i := range want {
		var err error
		if data, err = AppendResult(data, &want[i]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readAll(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
	if _, err := readAll(data[:len(data)-1]); err == nil {
		t.Error("results that were cut are results as well")
	}
}

func TestOutputWithoutJSON(t *testing.T) {
	before := []byte("before")
	bad := fullResult
	bad.Output = engine.Output{"f": func() {}}
	if got, err := AppendResult(before, &bad); err == nil || string(got) != "before" {
		t.Errorf("got %q, %v", got, err)
	}
}

// FuzzRead: reading any data ends with an error or with no more content than the data
// has.
func FuzzRead(f *testing.F) {
	segment, _ := AppendSegment(nil, engine.Segment{Run: "r1", CheckOnly: true, Steps: []engine.Step{fullStep, {ID: "2"}}})
	result, _ := AppendResult(nil, &fullResult)
	plain, _ := AppendResult(nil, &plainResult)
	for _, seed := range [][]byte{segment, result, append(result, plain...), {0xff, 0xff, 0xff, 0xff, 0x0f}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := ReadSegment(data); err == nil && len(s.Steps) > len(data) {
			t.Errorf("%d steps in %d bytes", len(s.Steps), len(data))
		}
		results, err := readAll(data)
		if err != nil {
			return
		}
		if len(results) > len(data) {
			t.Errorf("%d results in %d bytes", len(results), len(data))
		}
		var again []byte
		for i := range results {
			if again, err = AppendResult(again, &results[i]); err != nil {
				t.Fatal(err)
			}
		}
		if same, err := readAll(again); err != nil || !cmp.Equal(results, same) {
			t.Errorf("encoded again it is not the same (%v): %s", err, cmp.Diff(results, same))
		}
	})
}

// FuzzLikeJSON checks that a decoded message equals what JSON would have carried.
func FuzzLikeJSON(f *testing.F) {
	segment, _ := json.Marshal(engine.Segment{Run: "r1", CheckOnly: true, Steps: []engine.Step{fullStep, {ID: "2"}}})
	result, _ := json.Marshal(fullResult)
	f.Add(segment, result)
	f.Fuzz(func(t *testing.T, segment, result []byte) {
		var s engine.Segment
		if json.Unmarshal(segment, &s) == nil && len(s.Steps) > 0 {
			data, err := AppendSegment(nil, s)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ReadSegment(data)
			same(t, s, got, err)
		}
		var r engine.Result
		if json.Unmarshal(result, &r) != nil || r.Started.Year() < 1700 || r.Started.Year() > 2200 {
			return
		}
		want := engine.Result{Step: r.Step, Status: r.Status, Change: r.Change, Output: r.Output, Failure: r.Failure, Ignored: r.Ignored,
			Reason: r.Reason, Tries: r.Tries, Started: r.Started.UTC(), Elapsed: r.Elapsed, Secret: r.Secret}
		data, err := AppendResult(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(data)
		if err != nil || len(got) != 1 {
			t.Fatalf("%d results, %v", len(got), err)
		}
		same(t, want, got[0], nil)
	})
}

func same(t *testing.T, want, got any, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	a, errA := json.Marshal(want)
	b, errB := json.Marshal(got)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("got  %s (%v)\nwant %s (%v)", b, errB, a, errA)
	}
}

// segmentOf returns a segment of common size.
func segmentOf(steps int) engine.Segment {
	seg := engine.Segment{Run: "20261121-220000.000"}
	args, _ := json.Marshal(map[string]string{"Path": "/etc/some/file", "Content": string(make([]byte, 600)), "Mode": "0644"})
	for range steps {
		seg.Steps = append(seg.Steps, engine.Step{ID: "p1.t27", Name: "main configuration", Module: "file", Args: args})
	}
	return seg
}

func BenchmarkSegment(b *testing.B) {
	seg := segmentOf(30)
	b.Run("codec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			data, err := AppendSegment(nil, seg)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := ReadSegment(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			data, err := json.Marshal(seg)
			if err != nil {
				b.Fatal(err)
			}
			var got engine.Segment
			if err := json.Unmarshal(data, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestResultsThatWouldTakeTooMuch: a short message that would need much memory is
// refused before the memory is allocated.
func TestResultsThatWouldTakeTooMuch(t *testing.T) {
	with := func(output string) []byte {
		data, err := AppendResult(nil, &engine.Result{Step: "a", Status: engine.StatusOK})
		if err != nil {
			t.Fatal(err)
		}
		return appendText(data[:len(data)-1], output)
	}
	effects := func(n int) []byte {
		data, err := AppendResult(nil, &engine.Result{Step: "a", Status: engine.StatusOK, Change: &engine.Change{Effects: make([]engine.Effect, n)}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	objects := `{"a":[` + strings.Repeat(`{"":0},`, 30_000) + `0]}` // a quarter of what may be
	for name, tt := range map[string]struct {
		data []byte
		ok   bool
	}{
		"a list of objects":     {with(objects), true},
		"five lists of objects": {bytes.Repeat(with(objects), 5), false},
		"empty objects":         {with(`{"a":[` + strings.Repeat("{},", 1<<20) + `0]}`), false},
		"effects":               {effects(1000), true},
		"a million effects":     {effects(1 << 20), false},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readAll(tt.data)
		runtime.ReadMemStats(&after)
		if (err == nil) != tt.ok {
			t.Errorf("%s: error %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 4*MaxWeight {
			t.Errorf("%s: took %d bytes", name, took)
		}
	}
}
