package record

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/journal"
)

var update = flag.Bool("update", false, "write the golden record of the present format")

// memoryKeeper keeps a record in memory.
type memoryKeeper struct {
	mu    sync.Mutex
	data  []byte
	fails error         // of every append
	slow  chan struct{} // appends wait until it is closed
	lost  chan struct{}
}

func newMemoryKeeper() *memoryKeeper { return &memoryKeeper{lost: make(chan struct{})} }

func (k *memoryKeeper) Lost() <-chan struct{} { return k.lost }

func (k *memoryKeeper) AppendRecord(ctx context.Context, _ string, offset int64, data []byte) (int64, error) {
	k.mu.Lock()
	slow := k.slow
	k.mu.Unlock()
	if slow != nil {
		select {
		case <-slow:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fails != nil {
		return 0, k.fails
	}
	if offset == int64(len(k.data)) {
		k.data = append(k.data, data...)
	}
	return int64(len(k.data)), nil
}

func (k *memoryKeeper) content() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.data)
}

func newRecorder(t *testing.T, o Options) *Recorder {
	t.Helper()
	if o.Header.Run == "" {
		o.Header = journal.Header{Run: "r1", Started: began}
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

var began = time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC)

func stepEnd(host string, n int) engine.Event {
	return engine.Event{Time: began.Add(time.Duration(n) * time.Second), Type: engine.EventStepEnd, Host: host, Step: fmt.Sprint("1.web.", n), Name: "say",
		Result: &engine.Result{Host: host, Step: fmt.Sprint("1.web.", n), Name: "say", Status: engine.StatusChanged, Started: began, Elapsed: 1234567890123456789,
			Change: &engine.Change{Needed: true, Effects: []engine.Effect{{Kind: engine.EffectFile, Target: "/etc/web", Action: "create", Diff: "+ the content of a file\n"}}}}}
}

func runEnd() engine.Event {
	return engine.Event{Time: began, Type: engine.EventRunEnd, Report: &engine.Report{Run: "r1", Hosts: []engine.HostReport{{Host: "m1", Changed: 2}}}}
}

// decoded is the result of Decode.
type decoded struct {
	header *journal.Header
	events []engine.Event
	lines  []byte
	*Content
}

func decode(run string, data []byte) (decoded, error) {
	var out decoded
	var err error
	out.Content, err = Decode(context.Background(), run, data, func(h *journal.Header, e *engine.Event, line []byte) error {
		if h != nil {
			out.header = h
		} else {
			out.events = append(out.events, *e)
		}
		out.lines = append(append(out.lines, line...), '\n')
		return nil
	})
	return out, err
}

// TestRecordIsTheJournalWithoutDiffs checks that all keepers get the header, the plan
// and the events, unchanged except for progress, diffs and digits of times.
func TestRecordIsTheJournalWithoutDiffs(t *testing.T) {
	a, b := newMemoryKeeper(), newMemoryKeeper()
	r := newRecorder(t, Options{Keepers: []string{"m1", "m2"}, Plan: []byte("the plan\n")})
	r.Attach(t.Context(), "m1", a)
	if got, err := decode("r1", a.content()); err != nil || got.header == nil || string(got.Plan) != "the plan\n" {
		t.Fatalf("before the first change the keeper has %+v, %v", got, err)
	}
	r.Attach(t.Context(), "m2", b)
	r.Attach(t.Context(), "n1", nil)
	want := stepEnd("m1", 1)
	r.Emit(want)
	r.Emit(engine.Event{Type: engine.EventTransfer, Host: "m1", Bytes: 1})
	r.Emit(runEnd())
	r.Close()
	got, err := decode("r1", a.content())
	if err != nil || got.Damaged != nil || got.Size != len(a.content()) {
		t.Fatalf("%+v, %v", got, err)
	}
	want.Result.Change.Effects[0].Diff, want.Result.Started, want.Result.Elapsed = "", time.Time{}, want.Result.Elapsed.Truncate(time.Microsecond)
	if diff := cmp.Diff([]engine.Event{want, runEnd()}, got.events); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(a.content(), b.content()) {
		t.Error("the keepers have different records")
	}
	line, err := Outcome(context.Background(), "r1", a.content()[len(a.content())-300:])
	if err != nil || !bytes.Contains(line, []byte(`"run.end"`)) {
		t.Errorf("the outcome is %s, %v", line, err)
	}
}

// TestSlowKeeperDelaysNothing checks that the recorder accepts events while a keeper
// does not answer, that the other keeper is up to date meanwhile, and that the slow
// keeper catches up.
func TestSlowKeeperDelaysNothing(t *testing.T) {
	slow, fast := newMemoryKeeper(), newMemoryKeeper()
	r := newRecorder(t, Options{Keepers: []string{"m1", "m2"}})
	r.Attach(t.Context(), "m2", fast)
	slow.slow = make(chan struct{})
	r.Attach(t.Context(), "m1", slow)
	start := time.Now()
	for i := range 1000 {
		r.Emit(stepEnd("m1", i))
	}
	if took := time.Since(start); took > chunkInterval {
		t.Errorf("1000 events took %v", took)
	}
	waitFor(t, func() bool { got, _ := decode("r1", fast.content()); return len(got.events) == 1000 })
	if len(slow.content()) != 0 {
		t.Error("the slow keeper has something already")
	}
	close(slow.slow)
	r.Emit(runEnd())
	r.Close()
	if !bytes.Equal(slow.content(), fast.content()) {
		t.Error("the slow keeper has not caught up")
	}
}

// TestLostKeeperCatchesUp checks that a new session with a keeper continues where the
// earlier one ended, also when its last answer was lost.
func TestLostKeeperCatchesUp(t *testing.T) {
	host := newMemoryKeeper()
	r := newRecorder(t, Options{Keepers: []string{"m1"}})
	r.Attach(t.Context(), "m1", host)
	host.mu.Lock()
	host.fails = errors.New("the connection is lost")
	close(host.lost)
	host.mu.Unlock()
	r.Emit(stepEnd("m1", 1))
	time.Sleep(chunkInterval + 100*time.Millisecond)
	again := newMemoryKeeper()
	again.data = host.content()
	r.Attach(t.Context(), "m1", again)
	r.Emit(runEnd())
	r.Close()
	if got, err := decode("r1", again.content()); err != nil || len(got.events) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestNoKeeper checks that a run whose keepers cannot write continues with a warning:
// at once when all of them have failed, and after a time limit when they do not
// answer.
func TestNoKeeper(t *testing.T) {
	for name, session := range map[string]any{"full disk": &memoryKeeper{fails: errors.New("no space left on device"), lost: make(chan struct{})},
		"no keeper": "an older session", "hangs": &memoryKeeper{slow: make(chan struct{}), lost: make(chan struct{})}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			warned := make(chan string, 2)
			r := newRecorder(t, Options{Keepers: []string{"m1"}, Warn: func(text string) { warned <- text }})
			start := time.Now()
			r.Attach(t.Context(), "m1", session)
			took := time.Since(start)
			if hangs := name == "hangs"; hangs != (took >= beginWait) || took > 2*beginWait {
				t.Errorf("the run waited %v", took)
			}
			if text := <-warned; !strings.Contains(text, "no host has a record of this run yet (m1)") {
				t.Error(text)
			}
			r.Emit(runEnd())
			start = time.Now()
			r.Close()
			if took := time.Since(start); took > 2*endWait || name != "hangs" && took > endWait/2 {
				t.Errorf("the end waited %v", took)
			}
		})
	}
}

// TestDamagedRecords checks that invalid parts are left out or refused, and that no
// more is unpacked than the limits permit.
func TestDamagedRecords(t *testing.T) {
	host := newMemoryKeeper()
	r := newRecorder(t, Options{Keepers: []string{"m1"}})
	r.Attach(t.Context(), "m1", host)
	whole := len(host.content())
	r.Emit(stepEnd("m1", 1))
	r.Emit(runEnd())
	r.Close()
	data := host.content()
	change := func(at int, to byte) []byte { out := bytes.Clone(data); out[at] = to; return out }
	lines := func(text ...string) []byte {
		return appendChunk(bytes.Clone(data[:whole]), []byte(strings.Join(text, "\n")+"\n"))
	}
	bomb := appendChunk(bytes.Clone(data[:whole]), make([]byte, maxChunk+1))
	for name, c := range map[string]struct {
		data   []byte
		events int
		says   string // error or damage; empty for neither
	}{
		"truncated":                    {data[:len(data)-1], 1, ""},
		"header only":                  {data[:whole], 0, ""},
		"part of header":               {data[:whole-1], 0, "the record has no header"},
		"nothing":                      {nil, 0, "the record does not begin with the number of its format"},
		"newer":                        {change(10, '7'), 0, "the record has format 7, and this version of deployer knows format 1"},
		"flipped bit":                  {change(whole+20, data[whole+20]^1), 0, "unpacking a chunk"},
		"different lengths of a chunk": {change(whole+3, data[whole+3]-1), 0, "the two lengths of a chunk differ"},
		"huge length":                  {change(whole, 0xff), 0, "the limit is"},
		"decompression bomb":           {bomb, 0, "its size is unknown or above"},
		"two headers":                  {lines(`{"header":{"run":"r1"}}`), 0, "the header of the record is not its first line"},
		"unknown key":                  {lines(`{"event":{"type":"step.end","command":"rm"}}`), 0, `unknown field "command"`},
		"neither header nor event":     {lines(`{}`), 0, "neither a header nor an event"},
		"two values":                   {lines(`{"event":{"type":"wait"}} {}`), 0, "more than one value"},
		"no JSON":                      {lines("zzz"), 0, "decoding a line"},
		"escape sequence":              {lines(`{"event":{"type":"warning","text":"a\u001b[2Jb\u202e"}}`), 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decode("r1", c.data)
			if err == nil {
				err = got.Damaged
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
			if len(got.events) != c.events {
				t.Errorf("%d events, want %d", len(got.events), c.events)
			}
			if bytes.ContainsAny(got.lines, "\x1b") || bytes.Contains(got.lines, []byte("001b")) || bytes.Contains(got.lines, []byte("202e")) {
				t.Errorf("not sanitized: %s", got.lines)
			}
		})
	}
	if _, err := decode("r2", data); err == nil || !strings.Contains(err.Error(), `the header of the record is that of run "r1"`) {
		t.Errorf("a record of another run: %v", err)
	}
}

// TestFormat compares a record with the golden file of the present format. Packed bytes
// may differ between versions of the library, so the decoded lines are compared.
func TestFormat(t *testing.T) {
	golden := filepath.Join("testdata", "record-1.base64")
	host := newMemoryKeeper()
	r := newRecorder(t, Options{Keepers: []string{"m1"}, Plan: []byte(`{"format":1}`)})
	r.Attach(t.Context(), "m1", host)
	r.Emit(stepEnd("m1", 1))
	r.Emit(runEnd())
	r.Close()
	if *update {
		if err := os.WriteFile(golden, []byte(base64.StdEncoding.EncodeToString(host.content())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	data, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		t.Fatal(err)
	}
	want, err := decode("r1", data)
	if err != nil || want.Damaged != nil || len(want.events) != 2 || string(want.Plan) != `{"format":1}` {
		t.Fatalf("%+v, %v", want, err)
	}
	got, err := decode("r1", host.content())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want.lines), string(got.lines)); diff != "" {
		t.Errorf("it is not as in its format: give it another number, and read the old one: %s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(appendChunk(appendFormat(nil), []byte("{\"header\":{\"run\":\"r1\"}}\n{\"event\":{}}\n")))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = decode("r1", data)
		_, _ = Outcome(context.Background(), "r1", data)
	})
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it has not happened within 10 s")
		}
	}
}
