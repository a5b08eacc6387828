package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

func TestLines(t *testing.T) {
	for _, c := range []struct {
		file string
		opt  Options
	}{
		{"lines.txt", Options{}},
		{"lines-v.txt", Options{Verbose: 1}},
		{"lines-vv.txt", Options{Verbose: 2}},
		{"lines-check.txt", Options{Verbose: 1, Check: true}},
	} {
		t.Run(c.file, func(t *testing.T) {
			var out bytes.Buffer
			clock := &clockwork{start()}
			c.opt.Hosts = hosts()
			l := newLines(&out, c.opt, clock.now)
			for _, e := range story() {
				clock.at = e.Time
				l.Emit(e)
				l.showProgressIfIdle()
			}
			golden(t, c.file, out.String())
		})
	}
}

// TestLinesExplainsQuiet: after a time without output a progress line appears, at
// most every ten seconds, and none after the end of the run.
func TestLinesExplainsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := Lines(&out, Options{Hosts: []string{"m1", "m2", "m3", "m4", "m5"}})
		l.Emit(engine.Event{Type: engine.EventStepStart, Host: "m5", Name: "sleep", Time: time.Now()})
		time.Sleep(25 * time.Second)
		l.Emit(engine.Event{Type: engine.EventRunEnd})
		time.Sleep(time.Minute)
		l.Close()
		l.Close()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 {
			t.Fatalf("want two lines in 25 seconds, got:\n%s", out.String())
		}
		if want := "... 0 steps done, 0 changed; m1 connecting; m2 connecting; m3 connecting; and 2 more"; !strings.HasSuffix(lines[0], want) {
			t.Errorf("got %q, want it to end in %q", lines[0], want)
		}
	})
}

func TestJSONIsOneEventALine(t *testing.T) {
	var out bytes.Buffer
	j := JSON(&out)
	for _, e := range story() {
		j.Emit(e)
	}
	j.Close()
	golden(t, "events.jsonl", out.String())
	var got []engine.Event
	for line := range strings.Lines(out.String()) {
		var e engine.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(story(), got); diff != "" {
		t.Errorf("events do not survive (-want +got):\n%s", diff)
	}
}

// brokenPipe accepts a few lines and then fails; the renderer must not write to it
// again.
type brokenPipe struct{ left, calls int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	b.calls++
	if b.left == 0 {
		return 0, errors.New("broken pipe")
	}
	b.left--
	return len(p), nil
}

func TestJSONGoesOnWithoutItsReader(t *testing.T) {
	w := &brokenPipe{left: 2}
	j := JSON(w)
	for range 10 {
		j.Emit(engine.Event{Type: engine.EventPlayStart})
	}
	if w.calls != 3 {
		t.Errorf("%d writes, want 3: two that went well and one that failed", w.calls)
	}
}

// TestLiveRows checks the rows below the scrolling lines after each event.
func TestLiveRows(t *testing.T) {
	clock := &clockwork{start()}
	l := newLive(Options{Hosts: hosts()}, clock.now)
	var out strings.Builder
	for _, e := range story() {
		clock.at = e.Time
		l.take(e)
		fmt.Fprintf(&out, "# %s %s %s\n%s\n", e.Type, e.Host, e.Name, l.headline())
		for i := range hosts() {
			if row := l.hostLine(i); row != "" {
				fmt.Fprintln(&out, row)
			}
		}
	}
	golden(t, "live.txt", out.String())
}

func TestLiveWritesTheLines(t *testing.T) {
	var out bytes.Buffer
	l := Live(&out, Options{Hosts: hosts()})
	for _, e := range story() {
		l.Emit(e)
	}
	l.Close()
	for _, want := range []string{"== etcd", "m2         FAILED", "bad flag", "PARKED"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the output", want)
		}
	}
}

func TestTransferCountsWhatWasSentOnce(t *testing.T) {
	m := newModel(nil)
	for _, e := range []engine.Event{
		{Host: "m1", Name: "a", Bytes: 10, Total: 100}, {Host: "m1", Name: "a", Bytes: 60, Total: 100},
		{Host: "m2", Name: "a", Bytes: 40, Total: 100}, {Host: "m1", Name: "b", Bytes: 5},
		{Host: "m1", Name: "a", Bytes: 20, Total: 100}, // from the beginning, after a lost connection
	} {
		e.Type = engine.EventTransfer
		m.apply(e)
	}
	if want := int64(60 + 40 + 5 + 20); m.sent != want {
		t.Errorf("%d bytes sent, want %d", m.sent, want)
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0s", 340 * time.Millisecond: "0.3s", 59900 * time.Millisecond: "59.9s",
		time.Minute: "1m00s", 187 * time.Second: "3m07s", 3725 * time.Second: "1h02m",
	} {
		if got := clock(d); got != want {
			t.Errorf("clock(%v) is %q, want %q", d, got, want)
		}
	}
}

type list []engine.Event

func (l *list) Emit(e engine.Event) { *l = append(*l, e) }

func TestTee(t *testing.T) {
	var a, b list
	s := Tee(&a, &b)
	s.Emit(engine.Event{Name: "x"})
	if len(a) != 1 || len(b) != 1 {
		t.Errorf("one event became %d and %d", len(a), len(b))
	}
}
