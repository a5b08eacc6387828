package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/remote"
	"deployer/engine/remote/remotetest"
	"deployer/engine/transport"
)

// testHost is a session with a served root directory, in this process.
type testHost struct {
	*remote.Session
	line   net.Conn // to be cut
	root   string
	events *agenttest.Events
	blobs  *agenttest.Blobs
	served chan error
}

func newTestHost(t testing.TB, change func(*remote.Options)) *testHost {
	t.Helper()
	return newBenchAt(t, t.TempDir(), change)
}

// newWatchedBench returns a test host and the channel of its events.
func newWatchedBench(t testing.TB) (*testHost, <-chan engine.Event) {
	t.Helper()
	seen := make(chan engine.Event, 100)
	return newTestHost(t, func(o *remote.Options) { o.Sink = &agenttest.Events{Seen: seen} }), seen
}

// newBenchAt returns a test host in the directory root, which other sessions may
// serve too.
func newBenchAt(t testing.TB, root string, change func(*remote.Options)) *testHost {
	t.Helper()
	b := &testHost{root: root, events: &agenttest.Events{}, blobs: &agenttest.Blobs{}, served: make(chan error, 1)}
	opts := remote.Options{Host: "m1", Blobs: b.blobs, Sink: b.events}
	if change != nil {
		change(&opts)
	}
	here, there := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.served <- Serve(context.Background(), there, there, testRegistry(), ServeOptions{Root: b.root})
		_ = there.Close()
	}()
	s, err := remotetest.Attach(t.Context(), here, opts)
	if err != nil {
		t.Fatal(err)
	}
	b.Session, b.line = s, here
	t.Cleanup(func() {
		_ = s.Close()
		<-ended // the agent writes to its state directory, which is removed next
	})
	return b
}

// run executes a segment that must succeed, and returns its results.
func (b *testHost) run(t testing.TB, steps ...engine.Step) []engine.Result {
	t.Helper()
	var results []engine.Result
	err := b.Run(t.Context(), engine.Segment{Run: "r1", Steps: steps}, func(r engine.Result) { results = append(results, r) })
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func statuses(results []engine.Result) string {
	var s []string
	for _, r := range results {
		s = append(s, r.Step+"="+string(r.Status))
	}
	return strings.Join(s, " ")
}

func want(t testing.TB, results []engine.Result, wanted string) {
	t.Helper()
	if got := statuses(results); got != wanted {
		t.Fatalf("got %s\nwant %s\n%+v", got, wanted, results)
	}
}

func TestSegmentChangesOnceAndHandlersFollow(t *testing.T) {
	b := newTestHost(t, nil)
	handler := agenttest.Step(t, "h", "odd", agenttest.Odd{Do: "nothing"})
	handler.OnChange = []string{"a"}
	steps := []engine.Step{agenttest.Step(t, "a", "write", agenttest.Write{Path: "/f", Content: "one"}), handler}
	results := b.run(t, steps...)
	want(t, results, "a=changed h=changed")
	r := results[0]
	if r.Host != "m1" || r.Name != "step a" || r.Tries != 1 || r.Change == nil || r.Change.Effects[0].Target != "/f" {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff(engine.Output{"size": 3.0, "run": "r1"}, r.Output); diff != "" {
		t.Error(diff)
	}
	results = b.run(t, steps...)
	want(t, results, "a=ok h=skipped")
	if results[1].Reason == "" || results[0].Change != nil {
		t.Errorf("got %+v", results)
	}
}

// TestStepStart: only long steps and steps that report something are announced, and
// this before they end.
func TestStepStart(t *testing.T) {
	b := newTestHost(t, nil)
	skipped := agenttest.Step(t, "skipped", "odd", agenttest.Odd{Do: "say", Text: "hello"})
	skipped.OnChange = []string{"nothing"}
	b.run(t, agenttest.Step(t, "quick", "odd", agenttest.Odd{Do: "nothing"}), agenttest.Step(t, "talking", "odd", agenttest.Odd{Do: "say", Text: "hello"}),
		agenttest.Step(t, "slow", "odd", agenttest.Odd{Do: "run", Text: "sleep 0.2"}), skipped)
	var got []string
	for _, e := range b.events.Of(engine.EventStepStart, engine.EventStepText) {
		got = append(got, string(e.Type)+" "+e.Step)
	}
	if diff := cmp.Diff([]string{"step.start talking", "step.text talking", "step.start slow"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCheckChangesNothing(t *testing.T) {
	b := newTestHost(t, nil)
	handler := agenttest.Step(t, "h", "odd", agenttest.Odd{Do: "fail"})
	handler.OnChange = []string{"a"}
	var results []engine.Result
	seg := engine.Segment{Run: "r1", CheckOnly: true, Steps: []engine.Step{agenttest.Step(t, "a", "write", agenttest.Write{Path: "/f", Content: "one"}), handler}}
	if err := b.Run(t.Context(), seg, func(r engine.Result) { results = append(results, r) }); err != nil {
		t.Fatal(err)
	}
	want(t, results, "a=changed h=changed")
	if left, _ := filepath.Glob(b.root + "/*"); len(left) > 0 {
		t.Errorf("a dry run left %v", left)
	}
}

func TestFailureEndsTheSegment(t *testing.T) {
	b := newTestHost(t, nil)
	ignored := agenttest.Step(t, "i", "odd", agenttest.Odd{Do: "fail", Text: "never mind"})
	ignored.IgnoreErrors = true
	results := b.run(t, ignored, agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "fail", Text: "broken"}), agenttest.Step(t, "b", "odd", agenttest.Odd{Do: "nothing"}))
	want(t, results, "i=ok a=failed")
	if !results[0].Ignored || results[0].Failure.Message != "never mind" {
		t.Errorf("got %+v", results[0])
	}
	if diff := cmp.Diff(&engine.Failure{Message: "broken", Detail: "the detail"}, results[1].Failure); diff != "" {
		t.Error(diff)
	}
}

func TestOddModulesDoNotHurtTheAgent(t *testing.T) {
	b := newTestHost(t, nil)
	limited := agenttest.Step(t, "x", "odd", agenttest.Odd{Do: "wait", For: time.Minute})
	limited.Timeout = 20 * time.Millisecond
	for name, tt := range map[string]struct {
		step   engine.Step
		text   string
		detail string
	}{
		"panic":            {agenttest.Step(t, "x", "odd", agenttest.Odd{Do: "panic", Text: "ouch"}), "ouch", "odd_modules.go"},
		"failing check":    {agenttest.Step(t, "x", "odd", agenttest.Odd{Do: "fail-check", Text: "no way"}), "no way", ""},
		"unknown module":   {agenttest.Step(t, "x", "nope", agenttest.Odd{}), `has no module "nope"`, ""},
		"unknown argument": {agenttest.Step(t, "x", "write", map[string]string{"Paht": "/"}), "Paht", ""},
		"huge output":      {agenttest.Step(t, "x", "odd", agenttest.Odd{Do: "huge"}), "the limit is", ""},
		"timeout":          {limited, "longer than its timeout of 20ms", ""},
		"wrong digest":     {agenttest.Step(t, "x", "fetch", agenttest.Fetch{Digest: "../etc"}), "not the SHA-256", ""},
		"missing blob":     {agenttest.Step(t, "x", "fetch", agenttest.Fetch{Digest: strings.Repeat("ab", 32)}), "the controller has no such blob", ""},
		"unknown call":     {agenttest.Step(t, "x", "odd", agenttest.Odd{Do: "call", Text: "x.y"}), `has no method "x.y"`, ""},
		"missing program":  {agenttest.Step(t, "x", "odd", agenttest.Odd{Do: "run", Text: ""}), "", ""},
	} {
		results := b.run(t, tt.step)
		if name == "missing program" {
			want(t, results, "x=changed")
			continue
		}
		want(t, results, "x=failed")
		f := results[0].Failure
		if !strings.Contains(f.Message, tt.text) || !strings.Contains(f.Detail, tt.detail) {
			t.Errorf("%s: got %+v", name, f)
		}
	}
	want(t, b.run(t, agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "nothing"})), "a=changed")
}

func TestRetriesUntilItWorks(t *testing.T) {
	b := newTestHost(t, nil)
	s := agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "count-to-fail", Text: "/n"})
	s.Retries = 1
	results := b.run(t, s)
	want(t, results, "a=failed")
	if results[0].Tries != 2 || results[0].Failure.Message != "only 2" {
		t.Errorf("got %+v", results[0])
	}
	s.Retries, s.Delay = 5, time.Millisecond
	results = b.run(t, s)
	want(t, results, "a=changed")
	if results[0].Tries != 1 {
		t.Errorf("got %+v", results[0])
	}
}

func TestCallsAndCommands(t *testing.T) {
	b := newTestHost(t, func(o *remote.Options) {
		o.Calls = map[string]remote.CallFunc{
			"x.good": func(_ context.Context, host string, in json.RawMessage) (any, error) {
				return map[string]string{"host": host, "in": string(in)}, nil
			},
			"x.bad": func(context.Context, string, json.RawMessage) (any, error) { return nil, errors.New("not you") },
		}
	})
	results := b.run(t, agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "call", Text: "x.good"}),
		agenttest.Step(t, "b", "odd", agenttest.Odd{Do: "run", Text: "echo out; echo err >&2; exit 3"}),
		agenttest.Step(t, "c", "odd", agenttest.Odd{Do: "run", Text: "kill -9 $$"}),
		agenttest.Step(t, "d", "odd", agenttest.Odd{Do: "call", Text: "x.bad"}))
	want(t, results, "a=changed b=changed c=changed d=failed")
	if diff := cmp.Diff(map[string]any{"host": "m1", "in": `{"ask":"me"}`}, results[0].Output["answer"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(engine.Output{"exit": 3.0, "stdout": "out\n", "stderr": "err\n"}, results[1].Output); diff != "" {
		t.Error(diff)
	}
	if results[2].Output["exit"] != 137.0 {
		t.Errorf("got %+v", results[2].Output)
	}
	if m := results[3].Failure.Message; m != "calling x.bad: not you" {
		t.Errorf("got %q", m)
	}
}

func TestBlobs(t *testing.T) {
	b := newTestHost(t, nil)
	data := []byte(strings.Repeat("some content, ", 1<<20))
	digest := b.blobs.Add(t, data)
	wrong, length := b.blobs.Spoil(digest)
	results := b.run(t, agenttest.Step(t, "a", "fetch", agenttest.Fetch{Digest: digest, Path: "/f"}),
		agenttest.Step(t, "b", "fetch", agenttest.Fetch{Digest: digest, Only: 100}),
		agenttest.Step(t, "c", "fetch", agenttest.Fetch{Digest: digest}),
		agenttest.Step(t, "d", "fetch", agenttest.Fetch{Digest: wrong}))
	want(t, results, "a=changed b=changed c=changed d=failed")
	if got, err := os.ReadFile(b.root + "/f"); err != nil || string(got) != string(data) {
		t.Errorf("the content differs (%v)", err)
	}
	if m := results[3].Failure.Message; !strings.Contains(m, "artifacts verify") {
		t.Errorf("got %q", m)
	}
	all := b.events.Of(engine.EventTransfer)
	last := all[len(all)-1]
	if last.Bytes != length || last.Total != length || last.Host != "m1" {
		t.Errorf("got %+v, want %d bytes", last, length)
	}
}

func TestSecretStaysOutOfTheJournal(t *testing.T) {
	b := newTestHost(t, nil)
	good, bad := agenttest.Step(t, "a", "write", agenttest.Write{Path: "/f", Content: "hunter2"}), agenttest.Step(t, "b", "odd", agenttest.Odd{Do: "fail", Text: "hunter2"})
	good.Secret, bad.Secret = true, true
	results := b.run(t, good, bad)
	want(t, results, "a=changed b=failed")
	if e := results[0].Change.Effects[0]; e.Diff != "" || !e.Secret || !results[0].Secret {
		t.Errorf("got %+v", e)
	}
	raw, err := os.ReadFile(b.root + DefaultStateDir + "/runs/r1/journal.jsonl")
	if err != nil || strings.Contains(string(raw), "hunter2") || !strings.Contains(string(raw), `"step":"b"`) {
		t.Errorf("%s (%v)", raw, err)
	}
}

func TestHostTextIsCleaned(t *testing.T) {
	b := newTestHost(t, nil)
	evil := "a\x1b[2Jb\x1b]0;title\x07c\u202ed\xff\x00\r"
	results := b.run(t, agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "say", Text: evil}), agenttest.Step(t, "b", "odd", agenttest.Odd{Do: "fail", Text: evil}))
	cleaned := "abcd\ufffd"
	if r := results[0]; r.Output["text"] != cleaned || r.Output["list"].([]any)[0] != cleaned {
		t.Errorf("got %q", r.Output)
	}
	if m := results[1].Failure.Message; m != cleaned {
		t.Errorf("got %q", m)
	}
	if texts := b.events.Of(engine.EventStepText); len(texts) != 1 || texts[0].Text != cleaned {
		t.Errorf("got %+v", texts)
	}
}

func TestCancelNowEndsTheStepInFlight(t *testing.T) {
	b, seen := newWatchedBench(t)
	cause := errors.New("too many hosts have failed")
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		for e := range seen {
			if e.Type == engine.EventStepText {
				stop(cause)
				return
			}
		}
	}()
	var results []engine.Result
	err := b.Run(ctx, engine.Segment{Run: "r1", Steps: []engine.Step{
		agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "wait", For: time.Minute}), agenttest.Step(t, "b", "odd", agenttest.Odd{Do: "nothing"}),
	}}, func(r engine.Result) { results = append(results, r) })
	if !errors.Is(err, cause) {
		t.Fatalf("got %v", err)
	}
	want(t, results, "a=cancelled")
	if r := results[0].Reason; r != "cancelled: "+cause.Error() {
		t.Errorf("got %q", r)
	}
	want(t, b.run(t, agenttest.Step(t, "c", "odd", agenttest.Odd{Do: "nothing"})), "c=changed")
}

func TestStopFinishesTheStepInFlight(t *testing.T) {
	b, seen := newWatchedBench(t)
	go func() {
		for e := range seen {
			if e.Type == engine.EventStepText {
				b.Stop("interrupted")
				return
			}
		}
	}()
	var results []engine.Result
	err := b.Run(t.Context(), engine.Segment{Run: "r1", Steps: []engine.Step{
		agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "wait", Text: "/f", For: 100 * time.Millisecond}), agenttest.Step(t, "b", "odd", agenttest.Odd{Do: "nothing"}),
	}}, func(r engine.Result) { results = append(results, r) })
	if !errors.Is(err, remote.ErrStopped) {
		t.Fatalf("got %v", err)
	}
	want(t, results, "a=changed")
}

// The connection is lost in the middle of a step: the agent finishes the step and
// journals its result, and the next agent waits for the end of the step.
func TestLostConnectionFinishesTheStepAndTheNextAgentWaits(t *testing.T) {
	b, seen := newWatchedBench(t)
	ended := make(chan error, 1)
	go func() {
		ended <- b.Run(t.Context(), engine.Segment{Run: "r1", Steps: []engine.Step{
			agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "wait", Text: "/f", For: 700 * time.Millisecond}), agenttest.Step(t, "b", "odd", agenttest.Odd{Do: "nothing"}),
		}}, func(engine.Result) { t.Error("a result came over a cut line") })
	}()
	for e := range seen {
		if e.Type == engine.EventStepText {
			break
		}
	}
	_ = b.line.Close()
	var lost *transport.Error
	if err := <-ended; !errors.As(err, &lost) || !lost.Retryable() || lost.Kind != transport.Lost {
		t.Fatalf("got %v", err)
	}
	// The next connection comes while the first agent is still busy.
	second := &testHost{root: b.root, events: &agenttest.Events{}, served: make(chan error, 1)}
	here, there := net.Pipe()
	go func() {
		second.served <- Serve(context.Background(), there, there, testRegistry(), ServeOptions{Root: b.root})
	}()
	s, err := remotetest.Attach(t.Context(), here, remote.Options{Host: "m1", Sink: second.events})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	second.Session = s
	results := second.run(t, agenttest.Step(t, "c", "write", agenttest.Write{Path: "/g", Content: "x"}))
	want(t, results, "c=changed")
	if text := second.events.Of(engine.EventStepText); len(text) != 1 || !strings.Contains(text[0].Text, "another agent") {
		t.Errorf("got %+v", text)
	}
	if err := <-b.served; err == nil {
		t.Error("the first agent takes a cut line for a good-bye")
	}
	if done, err := os.ReadFile(b.root + "/f"); string(done) != "done" {
		t.Errorf("the step in flight was not finished: %v", err)
	}
	entries, err := s.Journal(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.Begun {
			got = append(got, e.Step+" begun")
		} else {
			got = append(got, e.Step+" "+string(e.Status))
		}
	}
	if diff := cmp.Diff([]string{"a begun", "a changed", "c begun", "c changed"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestUnlocked: commands of exec do not wait for the step of another agent.
func TestUnlocked(t *testing.T) {
	busy, seen := newWatchedBench(t)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- busy.Run(ctx, engine.Segment{Run: "r1", Steps: []engine.Step{agenttest.Step(t, "a", "gate", gate{})}}, func(engine.Result) {})
	}()
	for e := range seen {
		if e.Type == engine.EventStepText {
			break
		}
	}
	second := newBenchAt(t, busy.root, nil)
	var results []engine.Result
	err := second.Run(t.Context(), engine.Segment{Run: "r2", Unlocked: true, Steps: []engine.Step{agenttest.Step(t, "b", "write", agenttest.Write{Path: "/g", Content: "x"})}},
		func(r engine.Result) { results = append(results, r) })
	if err != nil {
		t.Fatal(err)
	}
	want(t, results, "b=changed")
	select {
	case err := <-ended:
		t.Errorf("the other agent's step has ended: %v", err)
	default:
	}
	cancel()
	<-ended
}

// A gate is not finished when the controller is lost: nothing is half done, and the
// next agent would have to wait for the gate.
func TestLostConnectionEndsAGate(t *testing.T) {
	b, seen := newWatchedBench(t)
	go func() {
		_ = b.Run(t.Context(), engine.Segment{Run: "r1", Steps: []engine.Step{agenttest.Step(t, "a", "gate", gate{})}}, func(engine.Result) {})
	}()
	for e := range seen {
		if e.Type == engine.EventStepText {
			break
		}
	}
	_ = b.line.Close()
	select {
	case <-b.served:
	case <-time.After(10 * time.Second):
		t.Fatal("the agent still waits")
	}
}

// A gate that opens has StatusOK and no change; a gate in progress does not delay a
// stop, and is neither done nor failed.
func TestStopEndsAGate(t *testing.T) {
	b, seen := newWatchedBench(t)
	go func() {
		for e := range seen {
			if e.Type == engine.EventStepText {
				b.Stop("interrupted")
				return
			}
		}
	}()
	handler := agenttest.Step(t, "h", "odd", agenttest.Odd{Do: "nothing"})
	handler.OnChange = []string{"g"}
	var results []engine.Result
	seg := engine.Segment{Run: "r1", Steps: []engine.Step{agenttest.Step(t, "g", "gate", gate{Open: true}), handler, agenttest.Step(t, "a", "gate", gate{}), agenttest.Step(t, "b", "odd", agenttest.Odd{Do: "nothing"})}}
	err := b.Run(t.Context(), seg, func(r engine.Result) { results = append(results, r) })
	if !errors.Is(err, remote.ErrStopped) {
		t.Fatalf("got %v", err)
	}
	want(t, results, "g=ok h=skipped a=cancelled")
	if r := results[2]; r.Reason != "cancelled: interrupted" || r.Failure != nil {
		t.Errorf("got %+v", r)
	}
}

func TestCloseIsAGoodbye(t *testing.T) {
	b := newTestHost(t, nil)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-b.served; err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	err := b.Run(t.Context(), engine.Segment{Run: "r", Steps: []engine.Step{agenttest.Step(t, "a", "odd", agenttest.Odd{})}}, nil)
	if transport.KindOf(err) != transport.Lost {
		t.Errorf("got %v", err)
	}
}

func TestJournalOfAnUnknownRun(t *testing.T) {
	b := newTestHost(t, nil)
	if entries, err := b.Journal(t.Context(), "never"); err != nil || len(entries) > 0 {
		t.Errorf("got %v, %v", entries, err)
	}
	if _, err := b.Journal(t.Context(), "../etc"); err == nil {
		t.Error("a path was taken for a run")
	}
	err := b.Run(t.Context(), engine.Segment{Run: "../x", Steps: []engine.Step{agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "nothing"})}}, func(engine.Result) { t.Error("it ran") })
	if err == nil || !strings.Contains(err.Error(), "is not the name of a run") {
		t.Errorf("got %v", err)
	}
}
