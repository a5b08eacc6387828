package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/limit"
)

// before checks that in the common log every line with first, of any host, comes
// before every line with second.
func before(t *testing.T, log []string, first, second string) {
	t.Helper()
	last, begin := -1, len(log)
	for i, l := range log {
		if strings.HasSuffix(l, " "+first) {
			last = i
		}
		if strings.HasSuffix(l, " "+second) {
			begin = min(begin, i)
		}
	}
	if last < 0 || begin == len(log) {
		t.Fatalf("%q or %q did not happen: %v", first, second, log)
	}
	if last > begin {
		t.Errorf("%q came before all of %q: %v", second, first, log)
	}
}

func TestBarrier(t *testing.T) {
	s := of(20)
	s.fleet.delay = time.Millisecond
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: a, do: {}}
    - {name: b, do: {}, barrier: true}
- hosts: all
  barrier: true
  tasks:
    - {name: c, do: {}}
`)
	before(t, s.fleet.log, "a", "b")
	before(t, s.fleet.log, "b", "c")
}

// TestBarrierInSkippedBlock: a host that skips a barrier does not delay the hosts
// that wait at it.
func TestBarrierInSkippedBlock(t *testing.T) {
	s := of(3)
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - when: host.name != "h2"
      block:
        - {name: a, do: {}, barrier: true}
    - {name: b, do: {}}
`)
	if diff := cmp.Diff([]string{"b"}, s.fleet.of("h2")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, s.fleet.of("h3")); diff != "" {
		t.Error(diff)
	}
}

// TestLinear: no host begins a task before all hosts have ended the task before it,
// also when some hosts skip a block, fail, or execute only a rescue part.
func TestLinear(t *testing.T) {
	s := of(6)
	s.fleet.delay = time.Millisecond
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		if st.Name == "b" && host == "h2" || st.Name == "c" && host == "h3" {
			return "fail"
		}
		return ""
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks: [{name: before, do: {}}]
- hosts: all
  strategy: linear
  tasks:
    - {name: a, do: {do: change}, notify: h}
    - block: [{name: b, do: {}}]
      when: host.name != "h4"
      rescue: [{name: saved, do: {}}]
    - {name: c, do: {}}
    - {name: d, do: {}}
  handlers: [{name: h, do: {}}]
`)
	order := []string{"before", "a", "b", "saved", "c", "d", "h"}
	for i := range order[1:] {
		before(t, s.fleet.log, order[i], order[i+1])
	}
	if len(report.Broken()) != 1 || !slices.Contains(s.fleet.of("h2"), "h") {
		t.Errorf("%s\n%v", summary(report), s.fleet.log)
	}
}

func TestFreeRunningBetweenBarriers(t *testing.T) {
	s := of(2)
	release := make(chan struct{})
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		switch {
		case host == "h1" && st.Name == "a":
			<-release // h1 hangs until h2 has completed
		case host == "h2" && st.Name == "c":
			close(release)
		}
		return ""
	}
	s.run(t, t.Context(), `
- hosts: all
  tasks: [{name: a, do: {}}]
- hosts: all
  tasks: [{name: c, do: {}}]
`)
}

func TestThrottle(t *testing.T) {
	for _, where := range []string{"task", "block", "action"} {
		t.Run(where, func(t *testing.T) {
			s := of(12)
			s.fleet.delay = time.Millisecond
			var inside, most atomic.Int32
			count := func() {
				now := inside.Add(1)
				for {
					m := most.Load()
					if now <= m || most.CompareAndSwap(m, now) {
						break
					}
				}
				time.Sleep(time.Millisecond)
				inside.Add(-1)
			}
			s.fleet.onStep = func(_ string, st engine.Step, _ doArgs) string {
				if st.Name == "x" {
					count()
				}
				return ""
			}
			s.fleet.action = func(context.Context, string, map[string]any, engine.ActionContext) (engine.Output, error) {
				count()
				return nil, nil
			}
			body := map[string]string{
				"task":   "{name: x, do: {}, throttle: 3}",
				"block":  "{throttle: n / 4, block: [{name: y, do: {}}, {name: x, do: {}}, {name: z, do: {}}]}",
				"action": "{name: x, act: {}, throttle: '3'}",
			}[where]
			report := s.run(t, t.Context(), "- hosts: all\n  tasks:\n    - {name: a, do: {}}\n    - "+body+"\n    - {name: b, do: {}}\n")
			if n := most.Load(); n > 3 || n < 2 {
				t.Errorf("%d hosts were inside at once, want at most 3 and some", n)
			}
			if len(report.Broken()) > 0 {
				t.Error(summary(report))
			}
		})
	}
}

// TestThrottledHostsHoldNoFork: hosts that wait at a throttle hold no fork: one fork is
// enough for all.
func TestThrottledHostsHoldNoFork(t *testing.T) {
	s := of(10)
	s.opts = func(o *Options) { o.Forks = 1 }
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - throttle: 1
      block:
        - {name: a, do: {}}
        - {name: act, act: {}}
        - {name: b, do: {}}
`)
	if s.fleet.maxBusy > 1 || len(report.Broken()) > 0 {
		t.Errorf("%d in flight\n%s", s.fleet.maxBusy, summary(report))
	}
	// With throttle 1 no host enters the block before the other one has left it.
	for i := 0; i < len(s.fleet.log); i += 2 {
		a, b := s.fleet.log[i], s.fleet.log[i+1]
		if strings.TrimSuffix(a, " a") != strings.TrimSuffix(b, " b") {
			t.Fatalf("another host came in between: %v", s.fleet.log)
		}
	}
}

func TestNeeds(t *testing.T) {
	s := of(4)
	s.inv.groups = map[string][]string{"m": {"h1", "h2"}, "w": {"h3", "h4"}}
	s.fleet.delay = 2 * time.Millisecond
	s.run(t, t.Context(), `
- hosts: m
  tasks:
    - {name: up, do: {}, label: up}
    - {name: rest, do: {}}
- hosts: w
  tasks:
    - {name: use, do: {}, needs: up}
`)
	before(t, s.fleet.log, "up", "use")
}

// TestNeedsCountsOnlyThoseThatRun: hosts for which the block's condition is false
// neither count nor delay other hosts.
func TestNeedsCountsOnlyThoseThatRun(t *testing.T) {
	s := of(4)
	s.fleet.delay = time.Millisecond
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - when: host.name in ["h1", "h2"]
      block:
        - {name: up, do: {}, label: up}
- hosts: all
  tasks:
    - {name: one, do: {}, needs: [{label: up, count: 1}]}
    - {name: all, do: {}, needs: [up]}
    - {name: many, do: {}, needs: [{label: up, count: 3}]}
`)
	if len(report.Broken()) > 0 {
		t.Fatal(summary(report))
	}
	before(t, s.fleet.log, "up", "all")
}

func TestNeedsThatCannotBeMetNamesTheRootCause(t *testing.T) {
	s := of(3)
	s.inv.groups = map[string][]string{"m": {"h1", "h2"}, "w": {"h3"}}
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		if st.Name == "up" {
			return "fail"
		}
		return ""
	}
	for _, need := range []string{"up", "[{label: up, count: 1}]"} {
		report := s.run(t, t.Context(), `
- hosts: m
  tasks:
    - {name: up, do: {}, label: up}
- hosts: w
  tasks:
    - {name: use, do: {}, needs: `+need+`}
`)
		if h := report.Hosts[2]; !h.Cancelled || h.Failure != nil {
			t.Errorf("needs %s: h3 is %+v, want cancelled", need, h)
		}
		var text string
		for _, e := range s.fleet.events {
			if e.Type == engine.EventHostParked && e.Host == "h3" {
				text = e.Text
			}
		}
		if !strings.Contains(text, `label "up"`) || !strings.Contains(text, "failure requested by the test") {
			t.Errorf("needs %s: the reason is %q", need, text)
		}
	}
}

func TestRunOnce(t *testing.T) {
	s := of(8)
	var runs atomic.Int32
	s.fleet.action = func(_ context.Context, _ string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		runs.Add(1)
		time.Sleep(5 * time.Millisecond)
		return engine.Output{"n": len(actx.Targets())}, nil
	}
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: plan, act: {}, run_once: true, register: plan, notify: h}
    - {name: use, do: {text: "{{ plan.n }} {{ plan.changed }}"}}
    - {name: on host, do: {do: change}, run_once: true, register: second}
    - {name: use, do: {text: "{{ second.changed }}"}}
  handlers:
    - {name: h, do: {}}
`)
	if runs.Load() != 1 {
		t.Errorf("the action ran %d times", runs.Load())
	}
	handlers := 0
	for _, h := range s.inv.hosts {
		log := s.fleet.of(h)
		if !slices.Contains(log, "use 8 true") || !slices.Contains(log, "use true") {
			t.Errorf("%s: %v", h, log)
		}
		if slices.Contains(log, "h") {
			handlers++
		}
	}
	if handlers != 1 {
		t.Errorf("the handler ran on %d hosts, want the elected one only", handlers)
	}
}

func TestRunOnceFailureStopsAll(t *testing.T) {
	s := of(4)
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: plan, act: {err: "three problems\nhost a: x\nhost b: y"}, run_once: true}
    - {name: use, do: {}}
`)
	if len(report.Broken()) != 1 || !strings.Contains(report.Aborted, "three problems") {
		t.Errorf("aborted %q\n%s", report.Aborted, summary(report))
	}
	culprit := report.Broken()[0]
	if want := `"plan" failed (run once, on ` + culprit.Host + `): three problems`; report.Aborted != want || !culprit.RunOnce {
		t.Errorf("aborted %q, want %q; for all: %t", report.Aborted, want, culprit.RunOnce)
	}
	if f := culprit.Failure; f.Message != "three problems" || f.Detail != "host a: x\nhost b: y" {
		t.Errorf("failure is %+v", f)
	}
	if len(s.fleet.log) > 0 {
		t.Errorf("steps ran: %v", s.fleet.log)
	}
}

// TestRunOnceReelection: when the elected host is lost during the task, another host
// runs it.
func TestRunOnceReelection(t *testing.T) {
	s := of(3)
	s.fleet.delay = time.Millisecond
	var first atomic.Pointer[string]
	s.fleet.connect = func(host string, try int) error {
		if f := first.Load(); f != nil && *f == host {
			return errors.New("gone for good")
		}
		return nil
	}
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		if st.Name == "plan" && first.CompareAndSwap(nil, &host) {
			return "lose"
		}
		return ""
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: plan, do: {do: change}, run_once: true, register: plan}
    - {name: use, do: {text: "{{ plan.changed }}"}}
`)
	done := 0
	for _, h := range report.Hosts {
		if slices.Contains(s.fleet.of(h.Host), "use true") {
			done++
		} else if !h.Unreachable {
			t.Errorf("%s: %+v", h.Host, h)
		}
	}
	if done != 2 {
		t.Errorf("%d hosts went on, want 2\n%s", done, summary(report))
	}
}

// TestDeadlock: deadlocks that the compiler cannot detect end with a reason.
func TestDeadlock(t *testing.T) {
	s := of(2)
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: early, do: {}, needs: late, when: true}
    - {name: late, do: {}, label: late}
`)
	for _, h := range report.Hosts {
		if !h.Cancelled {
			t.Errorf("%+v", h)
		}
	}
	if !strings.Contains(report.Aborted, "h1 waits for label \"late\"") {
		t.Errorf("aborted: %q", report.Aborted)
	}
	if e := s.fleet.events; !slices.ContainsFunc(e, func(e engine.Event) bool {
		return e.Type == engine.EventHostParked && strings.Contains(e.Text, "wait for each other") && strings.Contains(e.Text, `label "late"`)
	}) {
		t.Error("no event says why")
	}
}

func TestWaitEvents(t *testing.T) {
	s := of(2)
	hold := make(chan struct{})
	var once sync.Once
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		if host == "h1" && st.Name == "a" {
			<-hold
		}
		return ""
	}
	s.opts = func(o *Options) {
		o.Sink = sinkFunc(func(e engine.Event) {
			s.fleet.Emit(e)
			if e.Type == engine.EventWait && e.Host == "h2" {
				if e.Text != "" && !strings.Contains(e.Text, "h1") {
					t.Errorf("the wait does not name the host that is missing: %q", e.Text)
				}
				once.Do(func() { close(hold) })
			}
		})
	}
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: a, do: {}}
    - {name: b, do: {}, barrier: true}
`)
	last := ""
	for _, e := range s.fleet.events {
		if e.Type == engine.EventWait && e.Host == "h2" {
			last = e.Text + "."
		}
	}
	if last != "." {
		t.Errorf("the last word on h2's wait is %q, want that it is over", last)
	}
}

type sinkFunc func(engine.Event)

func (f sinkFunc) Emit(e engine.Event) { f(e) }

func TestBudget(t *testing.T) {
	tests := map[string]struct {
		budget string // of the play
		fail   []string
		abort  bool
	}{
		"one minion of ten":          {"", []string{"h9"}, false},
		"a master":                   {"", []string{"h1"}, true},
		"10% of 7 minions is none":   {"{minion: 10%}", []string{"h9"}, true},
		"20% of 7 minions is one":    {"{minion: 20%}", []string{"h9"}, false},
		"two are more than 20% of 7": {"{minion: 20%}", []string{"h9", "h8"}, true},
		"a play may allow masters":   {"{master: 100%}", []string{"h1", "h2"}, false},
		"limit of all hosts":         {"{all: 2}", []string{"h8", "h9", "h10"}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := of(10)
			s.inv.groups = map[string][]string{"master": {"h1", "h2", "h3"}, "etcd": {"h1"}, "minion": s.inv.hosts[3:]}
			if tt.budget == "{master: 100%}" {
				s.inv.groups["etcd"] = nil
			}
			s.fleet.onStep = func(host string, _ engine.Step, _ doArgs) string {
				if slices.Contains(tt.fail, host) {
					return "fail"
				}
				return ""
			}
			budget := ""
			if tt.budget != "" {
				budget = "\n  max_fail: " + tt.budget
			}
			report := s.run(t, t.Context(), "- hosts: all"+budget+"\n  tasks:\n    - {name: a, do: {}}\n    - {name: b, do: {}, barrier: true}\n")
			if got := report.Aborted != ""; got != tt.abort {
				t.Errorf("aborted: %q, want %v", report.Aborted, tt.abort)
			}
			ran := len(s.fleet.log) > 10
			if ran == tt.abort {
				t.Errorf("the steps after the failure ran: %v", ran)
			}
			for _, h := range report.Hosts {
				if broken := h.Failure != nil; broken != slices.Contains(tt.fail, h.Host) && !(tt.abort && h.Cancelled) {
					t.Errorf("%+v", h)
				}
			}
		})
	}
}

// TestBudgetOfTheNextPlay: failures that one play tolerates count in the next play.
func TestBudgetOfTheNextPlay(t *testing.T) {
	s := of(2)
	s.inv.groups = map[string][]string{"master": {"h1", "h2"}, "etcd": {}}
	s.fleet.connect = func(host string, _ int) error {
		if host == "h2" {
			return errors.New("no route to host")
		}
		return nil
	}
	var seen []engine.HostReport
	s.fleet.action = func(_ context.Context, _ string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		parked, ok := engine.Service[func() []engine.HostReport](actx.Services())
		if !ok {
			return nil, errors.New("no service")
		}
		seen = parked()
		return nil, nil
	}
	report := s.run(t, t.Context(), `
- hosts: all
  max_fail: {master: 100%}
  tasks:
    - {name: look, act: {}, barrier: true, run_once: true}
- hosts: all
  tasks:
    - {name: touch, do: {}}
`)
	if len(seen) != 1 || !seen[0].Unreachable || seen[0].Failure.Message != "no route to host" {
		t.Errorf("the report saw %+v", seen)
	}
	if !strings.Contains(report.Aborted, `too many hosts of "master"`) || len(s.fleet.log) > 0 {
		t.Errorf("aborted %q, log %v", report.Aborted, s.fleet.log)
	}
}

// TestNoGroupIsProtectedByItself: only the groups that the caller names are
// protected.
func TestNoGroupIsProtectedByItself(t *testing.T) {
	s := of(3)
	s.inv.groups = map[string][]string{"master": {"h1"}, "etcd": {"h1"}}
	s.fleet.connect = func(host string, _ int) error {
		if host == "h1" {
			return errors.New("no route to host")
		}
		return nil
	}
	s.opts = func(o *Options) { o.ProtectedGroups = nil }
	if report := s.run(t, t.Context(), "- hosts: all\n  tasks:\n    - {name: a, do: {}}\n"); report.Aborted != "" {
		t.Errorf("the run was aborted: %s", report.Aborted)
	}
}

func TestUnknownGroupInABudget(t *testing.T) {
	s := of(1)
	o := s.options()
	tenth, err := limit.Parse("10%")
	if err != nil {
		t.Fatal(err)
	}
	o.Budget = map[string]limit.Limit{"minoin": tenth}
	_, err = Run(t.Context(), s.compile(t, "- hosts: all\n  tasks: []\n"), o)
	if want := fmt.Sprintf("max_fail: group %q: unknown host or group %q", "minoin", "minoin"); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}
