package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

var start = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

// script makes the events of a run from lines such as "3 m1 end 1.a 2 changed": the second,
// the host, what happened, and for the end of a step its id, its seconds and its status.
func script(t *testing.T, lines ...string) []engine.Event {
	t.Helper()
	var out []engine.Event
	for _, line := range lines {
		f := strings.SplitN(line, " ", 4)
		var at float64
		if _, err := fmt.Sscan(f[0], &at); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		e := engine.Event{Time: start.Add(seconds(at)), Host: f[1]}
		rest := ""
		if len(f) > 3 {
			rest = f[3]
		}
		switch f[2] {
		case "up":
			e.Type = engine.EventHostUp
		case "wait":
			e.Type, e.Text = engine.EventWait, rest
		case "parked":
			e.Type, e.Text = engine.EventHostParked, rest
		case "begin":
			e.Type, e.Step, e.Name = engine.EventStepStart, rest, "step "+rest
		case "end":
			var took float64
			var status string
			e.Type = engine.EventStepEnd
			if _, err := fmt.Sscan(rest, &e.Step, &took, &status); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			e.Name = "step " + e.Step
			e.Result = &engine.Result{Status: engine.Status(strings.TrimSuffix(status, "!")), Ignored: strings.HasSuffix(status, "!"), Elapsed: seconds(took)}
		case "done":
			e.Type, e.Host = engine.EventRunEnd, ""
		default:
			t.Fatalf("%q: no such event", line)
		}
		out = append(out, e)
	}
	return out
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func collect(t *testing.T, lines ...string) *Timeline {
	t.Helper()
	c := NewCollector(start)
	for _, e := range script(t, lines...) {
		c.Add(e)
	}
	return c.Timeline(nil)
}

func TestParseReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, kind, subject, hosts string
		all                        bool
	}{
		{`the barrier in play "etcd": m1, m2 and 3 more`, "barrier", `the barrier in play "etcd"`, "m1 m2", false},
		{`the barrier in play "a: \"b\", c": m1`, "barrier", `the barrier in play "a: \"b\", c"`, "m1", true},
		{`the barrier in play "etcd"`, "barrier", `the barrier in play "etcd"`, "", false},
		{`label "apiserver-ready": m1, m2, m3`, "label", `label "apiserver-ready"`, "m1 m2 m3", true},
		{`the end of play "web": w1`, "serial", `the end of play "web"`, "w1", true},
		{`"cluster DNS", which m1 does for all`, "run_once", `"cluster DNS"`, "m1", true},
		{`its turn in the rollout of "kubelet (all)" (a canary first, then 2 at a time)`, "rollout", `its turn in the rollout of "kubelet (all)"`, "", false},
		{`its turn in block (1 at a time)`, "throttle", `its turn in block`, "", false},
		{`its turn in "restart" (1 at a time)`, "throttle", `its turn in "restart"`, "", false},
		{`the end of the soak time of "web", 30s`, "soak", `the end of the soak time of "web", 30s`, "", false},
		{`for the lock: run 1 of ops@a holds it`, "lock", `for the lock: run 1 of ops@a holds it`, "", false},
		{`label without a quote`, "other", `label without a quote`, "", false},
		{``, "other", ``, "", false},
	} {
		r := ParseReason(c.text)
		if string(r.Kind) != c.kind || r.For != c.subject || strings.Join(r.hosts, " ") != c.hosts || r.all != c.all {
			t.Errorf("%q: %+v", c.text, r)
		}
	}
}

func TestCauses(t *testing.T) {
	t.Parallel()
	barrier, label, turn, once := `the barrier in play "p": `, `label "l": `, `its turn in block (1 at a time)`, `"t", which m3 does for all`
	for _, c := range []struct {
		name  string
		lines []string
		want  string // host, cause and seconds of each wait
	}{
		{"the last host of a barrier", []string{"1 m1 end a 1 ok", "1 m1 wait " + barrier + "m2, m3", "2 m2 end a 2 ok", "2 m2 wait " + barrier + "m3",
			"5 m3 end a 5 ok", "5 m1 wait", "5 m2 wait"}, "m1 m3 4, m2 m3 3"},
		{"another host was active since", []string{"1 m1 wait " + barrier + "m2", "4 m2 end a 4 ok", "4.5 other end z 1 ok", "5 m1 wait"}, "m1 m2 4"},
		{"a released host is fast", []string{"1 m1 wait " + barrier + "m2, m3 and 1 more", "1 m2 wait " + barrier + "m3 and 1 more", "1 m4 wait " + barrier + "m3", "3 m3 end a 3 ok",
			"3 m1 wait", "3.1 m1 end b 0.1 ok", "3.2 m2 wait", "3.2 m4 wait"}, "m1 m3 2, m2 m3 2.2, m4 m3 2.2"},
		{"the missing host leaves the run", []string{"1 m1 wait " + barrier + "m2", "9 m2 parked no connection", "9 m1 wait"}, "m1 m2 8"},
		{"a host without events", []string{"1 m1 wait " + label + "m9", "3 m1 wait"}, "m1 m9 2"},
		{"a turn", []string{"1 m2 wait " + turn, "1 m3 wait " + turn, "4 m1 end a 4 ok", "4 m2 wait", "6 m2 end a 2 ok", "6 m3 wait"}, "m2 m1 3, m3 m2 5"},
		{"run once", []string{"1 m1 wait " + once, "1 m2 end z 1 ok", "3 m3 end t 3 ok", "3 m1 wait"}, "m1 m3 2"},
		{"barriers of two batches", []string{"1 m1 wait " + barrier + "m2", "2 m2 end a 2 ok", "2 m1 wait", "3 m3 wait " + barrier + "m4", "5 m4 end a 1 ok", "5 m3 wait"}, "m1 m2 1, m3 m4 2"},
		{"nobody", []string{`1 m1 wait the end of the soak time of "b", 2s`, "2 m2 end a 1 ok", "3 m1 wait"}, "m1 - 2"},
		{"a wait that the end of the journal cuts", []string{"1 m1 wait " + barrier + "m2", "3 m2 begin a"}, "m1 - 2"},
		{"one wait behind the other", []string{"1 m1 wait " + barrier + "m2", "2 m2 end a 1 ok", "2 m1 wait " + label + "m2", "4 m2 end b 2 ok", "4 m1 wait"}, "m1 m2 1, m1 m2 2"},
		{"an end without a beginning", []string{"1 m1 wait", "2 m1 end a 1 ok"}, ""},
	} {
		tl := collect(t, c.lines...)
		var got []string
		for _, h := range tl.Hosts {
			for _, w := range h.Waits {
				cause := w.Cause
				if cause == "" {
					cause = "-"
				}
				got = append(got, fmt.Sprintf("%s %s %g", h.Name, cause, (w.To-w.From).Seconds()))
			}
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestCriticalPath(t *testing.T) {
	t.Parallel()
	barrier, turn := `the barrier in play "p": `, `its turn in block (1 at a time)`
	for _, c := range []struct {
		name  string
		lines []string
		want  []string // kind, host, step, from, to and the host that waits
	}{
		{"no event", nil, nil},
		{"one host", []string{"1 m1 up", "3 m1 end a 2 ok", "5 m1 end b 1 changed", "6 - done"},
			[]string{"connect m1 0-1", "step m1 a 1-3", "between m1 3-4", "step m1 b 4-5", "end m1 5-6"}},
		{"the slow host of a barrier", []string{"1 m1 up", "1 m2 up", "2 m1 end a 1 ok", "2 m1 wait " + barrier + "m2", "8 m2 end a 7 ok", "8 m1 wait", "10 m1 end b 2 ok"},
			[]string{"connect m2 0-1", "step m2 a 1-8 > m1", "step m1 b 8-10"}},
		{"turns", []string{"0.5 m2 wait " + turn, "0.5 m3 wait " + turn, "4 m1 end a 4 ok", "4 m2 wait", "6 m2 end a 2 ok", "6 m3 wait", "7 m3 end a 1 ok"},
			[]string{"step m1 a 0-4 > m2", "step m2 a 4-6 > m3", "step m3 a 6-7"}},
		{"a soak time", []string{"1 m1 end a 1 ok", `1 m1 wait the end of the soak time of "b", 2s`, "3 m1 wait", "4 m1 end b 1 ok"},
			[]string{"step m1 a 0-1", "wait m1 1-3", "step m1 b 3-4"}},
		{"steps without time", []string{"1 m1 end a 0 ok", "1 m1 end b 0 ok", "2 m1 end c 1 ok"}, []string{"between m1 0-1", "step m1 c 1-2"}},
		{"waits for each other", []string{"1 m1 wait " + barrier + "m2", "1 m2 wait " + `label "x": m1`, "2 m1 wait", "2 m2 wait", "3 m1 end a 1 ok"},
			[]string{"between m1 0-2 > m2", "step m1 a 2-3"}},
		{"an event before the start", []string{"-5 m1 end a 9 ok", "2 m1 end b 1 ok"}, []string{"between m1 0-1", "step m1 b 1-2"}},
	} {
		tl := collect(t, c.lines...)
		var got []string
		var end time.Duration
		for _, p := range tl.CriticalPath() {
			if p.From != end {
				t.Errorf("%s: a part begins at %v, the one before it ended at %v", c.name, p.From, end)
			}
			end = p.To
			text := string(p.Kind) + " " + p.Host
			if p.Kind == PathStep {
				text += " " + tl.Steps[p.Step].ID
			}
			text += fmt.Sprintf(" %g-%g", p.From.Seconds(), p.To.Seconds())
			if p.Held != "" {
				text += " > " + p.Held
			}
			got = append(got, text)
		}
		if end != tl.Length {
			t.Errorf("%s: the path ends at %v, the run at %v", c.name, end, tl.Length)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	barrier := `the barrier in play "p": `
	tl := collect(t, "1 m1 end a 1 ok", "1 m2 end a 1 skipped", "1 m3 end b 0 ok", "2 m1 wait "+barrier+"m2, m3", "3 m3 wait "+barrier+"m2", "4 m2 end a 3 failed", "4 m1 wait", "4 m3 wait",
		"5 m1 end c 0.5 failed!", "5 m2 parked broken", "6 m3 begin d", "6 m3 begin e/m9")
	slowest := tl.Slowest(5)
	if len(slowest) != 2 || slowest[0].ID != "a" || slowest[0].Slowest != "m2" || slowest[0].Longest != seconds(3) || slowest[0].Total != seconds(4) || slowest[0].Hosts != 2 || slowest[1].ID != "c" {
		t.Errorf("slowest: %+v", slowest)
	}
	want := []WaitTotal{{Kind: Barrier, For: `the barrier in play "p"`, Cause: "m2", Hosts: 2, Total: seconds(3), Longest: seconds(2)}}
	if diff := cmp.Diff(want, tl.WaitsByCause()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]HostTotal{{"m2", 2, seconds(3)}}, tl.Causes()); diff != "" {
		t.Error(diff)
	}
	m1, m2, m3 := tl.Host("m1"), tl.Host("m2"), tl.Host("m3")
	if m1.Broken() || !m2.Broken() || m2.Counts["failed"] != 1 || m2.Counts["skipped"] != 1 || m1.Counts[Ignored] != 1 || m3.Counts[Open] != 1 {
		t.Errorf("hosts: %+v %+v %+v", m1, m2, m3)
	}
	if got := tl.HostTime(); got.Steps != seconds(1+3+0.5) || got.Waits != seconds(3) {
		t.Errorf("host time: %+v", got)
	}
	if m3.Spans[len(m3.Spans)-1].Outcome != Open {
		t.Errorf("spans of m3: %+v", m3.Spans)
	}
}

func TestHostsAreInTheWantedOrder(t *testing.T) {
	t.Parallel()
	c := NewCollector(start)
	for _, e := range script(t, "1 b up", "2 z up", "3 a up") {
		c.Add(e)
	}
	var got []string
	for _, h := range c.Timeline([]string{"a", "quiet", "b"}).Hosts {
		got = append(got, h.Name)
	}
	if diff := cmp.Diff([]string{"a", "quiet", "b", "z"}, got); diff != "" {
		t.Error(diff)
	}
}
