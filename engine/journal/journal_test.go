package journal

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

func header(run string) Header {
	return Header{Format: Format, Run: run, Started: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC), Invocation: Invocation{Verb: "install", Inventory: "/site/inventory.yaml"},
		Files: map[string]string{"/site/inventory.yaml": "abc"}, Versions: map[string]string{"kubernetes": "v1.36.3"}, PID: 42}
}

func create(t *testing.T, dir, run string) *Log {
	t.Helper()
	l, err := Create(dir, header(run))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func ended(host, step string, status engine.Status) engine.Event {
	return engine.Event{Time: time.Now(), Type: engine.EventStepEnd, Host: host, Step: step, Result: &engine.Result{Step: step, Status: status,
		Output: engine.Output{"token": "do-not-keep"}, Change: &engine.Change{Output: engine.Output{"token": "do-not-keep"},
			Effects: []engine.Effect{{Kind: engine.EffectFile, Target: "/a", Action: "create"}}}}}
}

func started(host, step string) engine.Event {
	return engine.Event{Time: time.Now(), Type: engine.EventStepStart, Host: host, Step: step}
}

func end(r engine.Report) engine.Event {
	return engine.Event{Time: time.Now(), Type: engine.EventRunEnd, Report: &r}
}

func TestOutcomes(t *testing.T) {
	tests := map[string]struct {
		events []engine.Event
		want   engine.Outcome
		open   map[string][]string
	}{
		"complete":    {[]engine.Event{started("a", "1"), ended("a", "1", engine.StatusOK), end(engine.Report{})}, engine.OutcomeDone, map[string][]string{}},
		"aborted":     {[]engine.Event{end(engine.Report{Aborted: "too many"})}, engine.OutcomeAborted, map[string][]string{}},
		"interrupted": {[]engine.Event{end(engine.Report{Interrupted: true})}, engine.OutcomeInterrupted, map[string][]string{}},
		"killed":      {[]engine.Event{started("a", "1"), started("b", "1"), ended("a", "1", engine.StatusChanged)}, Killed, map[string][]string{"b": {"1"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := create(t, dir, "r1")
			for _, e := range tt.events {
				l.Emit(e)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := Read(Path(dir, "r1"))
			if err != nil {
				t.Fatal(err)
			}
			if r.Outcome != tt.want {
				t.Errorf("outcome is %s, want %s", r.Outcome, tt.want)
			}
			if diff := cmp.Diff(tt.open, r.Open); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(header("r1"), r.Header); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRunningIsKnownByTheLock(t *testing.T) {
	dir := t.TempDir()
	l := create(t, dir, "r1")
	r, err := Read(Path(dir, "r1"))
	if err != nil || r.Outcome != Running {
		t.Fatalf("outcome is %v (%v), want running", r, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err = Read(Path(dir, "r1")); err != nil || r.Outcome != Killed {
		t.Fatalf("outcome is %v (%v), want killed", r.Outcome, err)
	}
}

// TestKilledProcess kills a real process while it writes.
func TestKilledProcess(t *testing.T) {
	if dir := os.Getenv("JOURNAL_TEST_DIR"); dir != "" {
		l := create(t, dir, "victim")
		for i := 0; ; i++ {
			l.Emit(ended("h", strings.Repeat("x", 1000), engine.StatusOK))
			if i == 100 {
				time.Sleep(20 * writeDelay)
				os.Stdout.WriteString("ready\n")
			}
		}
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	r, err := Read(Path(dir, "victim"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != Killed || r.Results[engine.StatusOK] < 101 {
		t.Errorf("outcome %s with %d results, want killed with at least 101", r.Outcome, r.Results[engine.StatusOK])
	}
}

func TestCutLastLine(t *testing.T) {
	dir := t.TempDir()
	l := create(t, dir, "r1")
	l.Emit(ended("a", "1", engine.StatusOK))
	l.Emit(ended("a", "2", engine.StatusOK))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(Path(dir, "r1"))
	if err != nil {
		t.Fatal(err)
	}
	firstTwo := len(bytes.SplitAfterN(data, []byte("\n"), 3)[0]) + len(bytes.SplitAfterN(data, []byte("\n"), 3)[1])
	for cut := len(data) - 1; cut > firstTwo; cut -= 7 {
		if err := os.WriteFile(Path(dir, "r1"), data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Read(Path(dir, "r1"))
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if r.Results[engine.StatusOK] != 1 || r.Outcome != Killed {
			t.Fatalf("cut at %d: %d results, %s", cut, r.Results[engine.StatusOK], r.Outcome)
		}
	}
}

func TestPrivateAndWithoutOutput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	l := create(t, dir, "r1")
	e := ended("a", "1", engine.StatusChanged)
	l.Emit(e)
	l.Emit(engine.Event{Type: engine.EventTransfer, Host: "a"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if e.Result.Output == nil || e.Result.Change.Output == nil {
		t.Error("the journal changed the event of others")
	}
	data, err := os.ReadFile(Path(dir, "r1"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("do-not-keep")) || bytes.Contains(data, []byte(`"transfer"`)) {
		t.Errorf("the journal holds what it should not: %s", data)
	}
	if !bytes.Contains(data, []byte(`"target":"/a"`)) {
		t.Errorf("the journal lacks the effects: %s", data)
	}
	for path, want := range map[string]os.FileMode{Path(dir, "r1"): 0o600, dir: 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

// TestDamaged: a log with zeros from a power cut is read up to the damage, so that the run
// can be shown and resumed.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	l := create(t, dir, "r1")
	for _, step := range []string{"1", "2", "3"} {
		l.Emit(ended("a", step, engine.StatusOK))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(Path(dir, "r1"))
	if err != nil {
		t.Fatal(err)
	}
	rows := bytes.SplitAfter(data, []byte("\n"))
	rows[2] = append(bytes.Repeat([]byte{0}, len(rows[2])-1), '\n')
	if err := os.WriteFile(Path(dir, "r1"), bytes.Join(rows, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := List(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("listed %d, %v", len(all), err)
	}
	r := all[0]
	if r.Results[engine.StatusOK] != 2 || r.Outcome != Killed || r.Damaged == nil || r.Damaged.Line != 3 || r.Damaged.Count != 1 {
		t.Errorf("%d results, %s, %v", r.Results[engine.StatusOK], r.Outcome, r.Damaged)
	}
	if err := os.WriteFile(Path(dir, "r1"), data[3:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(Path(dir, "r1")); err == nil || !strings.Contains(err.Error(), "has no header") {
		t.Errorf("without a header: %v", err)
	}
}

// TestCreateLeavesNothing: Create removes a log whose header cannot be written.
func TestCreateLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	h := header("r1")
	h.Invocation.Extra = map[string]any{"no JSON": make(chan int)}
	if l, err := Create(dir, h); err == nil {
		l.Close()
		t.Fatal("it was begun")
	}
	if all, err := List(dir); len(all) > 0 || err != nil {
		t.Errorf("%d are listed, %v", len(all), err)
	}
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	defer create(t, dir, "r1").Close()
	for _, run := range []string{"r1", "", "../x", ".hidden", "a/b"} {
		if l, err := Create(dir, header(run)); err == nil {
			l.Close()
			t.Errorf("run id %q was taken", run)
		}
	}
}

func TestListNewestFirst(t *testing.T) {
	dir := t.TempDir()
	for i, run := range []string{"b", "a", "c"} {
		h := header(run)
		h.Started = h.Started.Add(time.Duration(i) * time.Hour)
		l, err := Create(dir, h)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.jsonl"), []byte("{}\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	records, err := List(dir)
	if err == nil || !strings.Contains(err.Error(), "bad.jsonl:1: damaged line of a run's log, and 1 more") {
		t.Errorf("error is %v, want one that names bad.jsonl:1", err)
	}
	var got []string
	for _, r := range records {
		got = append(got, r.Header.Run)
	}
	if diff := cmp.Diff([]string{"c", "a", "b"}, got); diff != "" {
		t.Error(diff)
	}
	if none, err := List(filepath.Join(dir, "missing")); err != nil || none != nil {
		t.Errorf("a missing directory gives %v, %v", none, err)
	}
}

// TestListReadsTheEnd: List reads the report at the end of a completed run's log, however
// long its line is.
func TestListReadsTheEnd(t *testing.T) {
	dir := t.TempDir()
	l := create(t, dir, "r1")
	l.Emit(ended("a", "1", engine.StatusOK))
	report := engine.Report{Run: "r1", Elapsed: time.Minute}
	for i := range 3000 {
		report.Hosts = append(report.Hosts, engine.HostReport{Host: strings.Repeat("h", 100), Changed: i})
	}
	report.Hosts[0].Failure = &engine.Failure{Message: "broken"}
	l.Emit(end(report))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	records, err := List(dir)
	if err != nil || len(records) != 1 {
		t.Fatalf("%v, %v", records, err)
	}
	r := records[0]
	if diff := cmp.Diff(&report, r.Report); diff != "" || r.Outcome != engine.OutcomePartial || r.Elapsed() != time.Minute {
		t.Errorf("%s, %v: %s", r.Outcome, r.Elapsed(), diff)
	}
	if diff := cmp.Diff(header("r1"), r.Header); diff != "" {
		t.Error(diff)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []string{"2026-1", "2026-12", "2027"} {
		if err := create(t, dir, run).Close(); err != nil {
			t.Fatal(err)
		}
	}
	for run, want := range map[string]string{"2026-1": "2026-1", "2027": "2027", "202": "3 runs begin with", "2026-12": "2026-12", "x": `no run "x"`, "20": "3 runs"} {
		r, err := Find(dir, run)
		if err == nil && r.Header.Run != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", run, r, err, want)
		}
	}
}

// TestFollow: Follow reports events when they are written, waits for the rest of an
// incomplete line, and returns at the end of the run or of its process.
func TestFollow(t *testing.T) {
	for _, killed := range []bool{false, true} {
		dir := t.TempDir()
		l := create(t, dir, "r1")
		var mu sync.Mutex
		got := 0
		over := make(chan error)
		go func() {
			over <- Follow(t.Context(), Path(dir, "r1"), func(_ *Header, e *engine.Event) error {
				mu.Lock()
				defer mu.Unlock()
				if e != nil {
					got++
				}
				return nil
			})
		}()
		l.Emit(ended("a", "1", engine.StatusOK))
		time.Sleep(2 * followPoll)
		l.Emit(ended("a", "2", engine.StatusOK))
		if !killed {
			l.Emit(end(engine.Report{}))
			if err := <-over; err != nil || got != 3 {
				t.Errorf("%d events, %v", got, err)
			}
		}
		l.mu.Lock()
		l.write([]byte(`{"event":{"ho`))
		l.mu.Unlock()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if killed {
			if err := <-over; err != nil || got != 2 {
				t.Errorf("%d events, %v", got, err)
			}
		}
	}
}

// TestWrittenAtOnce: only the ends of successful steps wait to be written, and not
// for long; all other lines are in the file at once, after those.
func TestWrittenAtOnce(t *testing.T) {
	dir := t.TempDir()
	l := create(t, dir, "r1")
	defer l.Close()
	failed := ended("a", "2", engine.StatusFailed)
	failed.Result.Failure = &engine.Failure{Message: "no"}
	for i, e := range []engine.Event{failed, {Type: engine.EventStepStart, Host: "a", Step: "3"}, {Type: engine.EventHostParked, Host: "a"}} {
		l.Emit(ended("a", "1", engine.StatusOK))
		l.Emit(e)
		r, err := Read(Path(dir, "r1"))
		if err != nil || r.Results[engine.StatusOK] != i+1 || r.Results[engine.StatusFailed] != 1 {
			t.Fatalf("after %s: %+v, %v", e.Type, r.Results, err)
		}
	}
	l.Emit(ended("a", "1", engine.StatusOK))
	time.Sleep(10 * writeDelay)
	if r, err := Read(Path(dir, "r1")); err != nil || r.Results[engine.StatusOK] != 4 {
		t.Errorf("%+v, %v", r.Results, err)
	}
}

// TestResultWithoutEventFields: a result is written without the fields that its event
// has, and is complete when it is read.
func TestResultWithoutEventFields(t *testing.T) {
	dir := t.TempDir()
	l := create(t, dir, "r1")
	want := ended("a", "1", engine.StatusOK)
	want.Time, want.Name = want.Time.UTC(), "say"
	want.Result = &engine.Result{Host: "a", Step: "1", Name: "say", Status: engine.StatusOK}
	other := want
	other.Result = &engine.Result{Host: "a", Step: "1/b", Name: "say", Status: engine.StatusOK}
	for _, e := range []engine.Event{want, other} {
		l.Emit(e)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(Path(dir, "r1"))
	if err != nil || strings.Count(string(raw), `"say"`) != 3 {
		t.Errorf("%s (%v)", raw, err)
	}
	var got []engine.Event
	if err := Scan(Path(dir, "r1"), func(_ *Header, e *engine.Event) error {
		if e != nil {
			got = append(got, *e)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]engine.Event{want, other}, got); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrentEmit(t *testing.T) {
	dir := t.TempDir()
	l := create(t, dir, "r1")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 50 {
				l.Emit(ended("a", "1", engine.StatusOK))
			}
		})
	}
	all.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Emit(ended("a", "late", engine.StatusOK)) // after Close: nothing happens
	r, err := Read(Path(dir, "r1"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Results[engine.StatusOK] != 1000 {
		t.Errorf("%d results, want 1000", r.Results[engine.StatusOK])
	}
}

func TestDir(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	if got, err := Dir(); err != nil || got != "/state/deployer/runs" {
		t.Errorf("Dir() = %q, %v", got, err)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "/home/me")
	if got, err := Dir(); err != nil || got != "/home/me/.local/state/deployer/runs" {
		t.Errorf("Dir() = %q, %v", got, err)
	}
}

// TestOpenStepsInOrder checks that steps which have begun and not ended are listed in the order
// of their starts, also those that began again.
func TestOpenStepsInOrder(t *testing.T) {
	dir := t.TempDir()
	l := create(t, dir, "r1")
	for _, e := range []engine.Event{
		started("a", "2"), started("a", "9"), started("a", "1"), started("b", "1"), ended("a", "9", engine.StatusOK), started("a", "2"),
		ended("b", "1", engine.StatusOK), ended("b", "7", engine.StatusOK), started("a", "9"),
	} {
		l.Emit(e)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Read(Path(dir, "r1"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"a": {"2", "1", "9"}}, r.Open); diff != "" {
		t.Error(diff)
	}
}

// TestReadIsBounded checks that the time of Read grows with the size of the journal, whatever
// the order of the ends of its steps, and that a copy which is nothing but names is refused.
func TestReadIsBounded(t *testing.T) {
	write := func(n int, line func(b *bytes.Buffer, i int)) string {
		var b bytes.Buffer
		b.WriteString(`{"header":{"format":1,"run":"r1"}}` + "\n")
		for i := range n {
			line(&b, i)
		}
		path := filepath.Join(t.TempDir(), "r1.jsonl")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// nested returns the processor time in which a journal of n steps that end in reverse order is read.
	nested := func(n int) time.Duration {
		path := write(2*n, func(b *bytes.Buffer, i int) {
			if i < n {
				fmt.Fprintf(b, `{"event":{"type":"step.start","host":"a","step":"%d"}}`+"\n", i)
			} else {
				fmt.Fprintf(b, `{"event":{"type":"step.end","host":"a","step":"%d"}}`+"\n", 2*n-1-i)
			}
		})
		began := processorTime(t)
		if r, err := Read(path); err != nil || len(r.Open) != 0 {
			t.Errorf("%v, %v", r, err)
		}
		return processorTime(t) - began
	}
	// Four times the steps take four times as long, and sixteen times when each end searches all. The
	// collector of garbage makes one try or the other longer.
	for try := 1; ; try++ {
		few, many := nested(8_000), nested(32_000)
		if many <= 10*few {
			break
		}
		if try == 5 {
			t.Errorf("8000 steps took %v, 32 000 took %v", few, many)
			break
		}
	}
	names := write(400_000, func(b *bytes.Buffer, i int) { fmt.Fprintf(b, `{"event":{"type":"host.parked","host":"%d"}}`+"\n", i) })
	if _, err := Read(names); err == nil || !strings.Contains(err.Error(), "MiB of names") {
		t.Errorf("400 000 hosts: %v", err)
	}
}

// processorTime returns the processor time of this process in user mode, which other processes do not
// make longer.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano())
}
