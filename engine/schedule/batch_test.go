package schedule

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// titles returns the plays and batches that were announced, in order.
func titles(events []engine.Event) []string {
	var out []string
	for _, e := range events {
		if e.Type == engine.EventPlayStart {
			out = append(out, strings.TrimSpace(e.Name+" "+e.Text))
		}
	}
	return out
}

func TestSerial(t *testing.T) {
	s := of(5)
	s.fleet.delay = time.Millisecond
	s.run(t, t.Context(), `
- name: roll
  hosts: all
  serial: [1, 2]
  tasks:
    - {name: a, do: {do: change}, notify: h}
    - {name: b, do: {}, barrier: true}
  handlers: [{name: h, do: {}}]
- name: then
  hosts: all
  tasks: [{name: c, do: {}}]
`)
	want := []string{"roll batch 1 of 3: h1", "then", "roll batch 2 of 3: h2, h3", "roll batch 3 of 3: h4, h5"}
	got := titles(s.fleet.events)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	at := func(line string) int { return slices.Index(s.fleet.log, line) }
	for _, pair := range [][2]string{{"h1 h", "h2 a"}, {"h1 h", "h3 a"}, {"h2 h", "h4 a"}, {"h3 h", "h5 a"}, {"h2 a", "h3 b"}, {"h3 a", "h2 b"}} {
		if at(pair[0]) < 0 || at(pair[0]) > at(pair[1]) {
			t.Errorf("%q came after %q: %v", pair[0], pair[1], s.fleet.log)
		}
	}
}

// TestSerialBarrierOfThePlay: a barrier before the first batch holds all hosts of the play.
func TestSerialBarrierOfThePlay(t *testing.T) {
	s := of(4)
	s.fleet.delay = time.Millisecond
	s.run(t, t.Context(), `
- hosts: all
  tasks: [{name: a, do: {}}]
- hosts: all
  barrier: true
  serial: 50%
  tasks: [{name: b, do: {}}]
`)
	before(t, s.fleet.log, "a", "b")
}

// TestSerialPerBatch: run_once, targets and needs are those of a batch; another
// play waits for all of them.
func TestSerialPerBatch(t *testing.T) {
	s := of(4)
	var runs atomic.Int32
	s.inv.groups = map[string][]string{"m": {"h1", "h2", "h3"}, "w": {"h4"}}
	s.fleet.delay = time.Millisecond
	s.fleet.action = func(_ context.Context, _ string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		runs.Add(1)
		return engine.Output{"targets": strings.Join(actx.Targets(), " ")}, nil
	}
	s.run(t, t.Context(), `
- hosts: m
  serial: 2
  tasks:
    - {name: up, do: {}, label: up}
    - {name: plan, act: {}, run_once: true, register: plan, needs: up}
    - {name: use, do: {text: "{{ plan.targets }}"}}
- hosts: w
  tasks:
    - {name: last, do: {}, needs: up}
`)
	if runs.Load() != 2 {
		t.Errorf("the action ran %d times, want once a batch", runs.Load())
	}
	for host, want := range map[string]string{"h1": "use h1 h2", "h2": "use h1 h2", "h3": "use h3"} {
		if !slices.Contains(s.fleet.of(host), want) {
			t.Errorf("%s: %v, want %q", host, s.fleet.of(host), want)
		}
	}
	before(t, s.fleet.log, "up", "last")
}

func TestSerialLostBatch(t *testing.T) {
	tests := map[string]struct {
		fail   []string // their step a
		gone   []string // cannot be reached
		abort  string   // in the report; empty when the run continues
		worked []string // hosts that did a
	}{
		"no failure":                                    {nil, nil, "", []string{"h1", "h2", "h3", "h4"}},
		"one of two hosts of a batch fails":             {[]string{"h1"}, nil, "", []string{"h1", "h2", "h3", "h4"}},
		"all hosts of a batch fail":                     {[]string{"h1", "h2"}, nil, `batch 1 of 2 of play "roll" was lost as a whole`, []string{"h1", "h2"}},
		"one host of a batch fails, one is unreachable": {[]string{"h2"}, []string{"h1"}, `batch 1 of 2 of play "roll" was lost as a whole`, []string{"h2"}},
		"all hosts of a batch are unreachable":          {nil, []string{"h1", "h2"}, `lost h1, h2; h1: no route`, nil},
		"all hosts of the last batch fail":              {[]string{"h3", "h4"}, nil, "", []string{"h1", "h2", "h3", "h4"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := of(4)
			s.fleet.connect = func(host string, _ int) error {
				if slices.Contains(tt.gone, host) {
					return errors.New("no route")
				}
				return nil
			}
			s.fleet.onStep = func(host string, _ engine.Step, _ doArgs) string {
				if slices.Contains(tt.fail, host) {
					return "fail"
				}
				return ""
			}
			report := s.run(t, t.Context(), "- name: roll\n  hosts: all\n  serial: 2\n  tasks: [{name: a, do: {}}, {name: b, do: {}}]\n")
			if (report.Aborted == "") != (tt.abort == "") || !strings.Contains(report.Aborted, tt.abort) {
				t.Errorf("aborted: %q, want %q", report.Aborted, tt.abort)
			}
			var worked []string
			for _, h := range s.inv.hosts {
				if slices.Contains(s.fleet.of(h), "a") {
					worked = append(worked, h)
				}
			}
			if diff := cmp.Diff(tt.worked, worked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSerialWithoutLostHosts: hosts that an earlier play has lost do not stop the
// run, and neither do losses after the play.
func TestSerialWithoutLostHosts(t *testing.T) {
	s := of(3)
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		if host == "h1" && st.Name == "before" || host == "h2" && st.Name == "after" {
			return "fail"
		}
		return ""
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks: [{name: before, do: {}}]
- hosts: all
  serial: 1
  tasks: [{name: a, do: {}}]
- hosts: all
  tasks: [{name: after, do: {}}]
`)
	if report.Aborted != "" || !slices.Contains(s.fleet.of("h3"), "after") {
		t.Errorf("aborted %q: %v", report.Aborted, s.fleet.log)
	}
}

// TestSerialBudget: hosts that are lost elsewhere while a batch waits count when the batch
// begins.
func TestSerialBudget(t *testing.T) {
	s := of(3)
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		if host == "h1" && st.Name == "after" {
			return "fail"
		}
		if host == "h2" {
			time.Sleep(20 * time.Millisecond)
		}
		return ""
	}
	report := s.run(t, t.Context(), `
- hosts: all
  serial: 1
  max_fail: {all: 0}
  tasks: [{name: a, do: {}}]
- hosts: h1
  max_fail: {all: 100%}
  tasks: [{name: after, do: {}}]
`)
	if !strings.Contains(report.Aborted, `too many hosts of "all"`) || len(s.fleet.of("h3")) > 0 {
		t.Errorf("aborted %q: %v", report.Aborted, s.fleet.log)
	}
}
