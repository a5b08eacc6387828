package schedule

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/session"
)

// failing makes the named steps fail.
func failing(names ...string) func(string, engine.Step, doArgs) string {
	return func(_ string, st engine.Step, _ doArgs) string {
		if slices.Contains(names, st.Name) {
			return "fail"
		}
		return ""
	}
}

func TestBlocks(t *testing.T) {
	const site = `
- hosts: all
  tasks:
    - block:
        - {name: a, do: {}}
        - block:
            - {name: b, do: {}}
            - {name: c, do: {}}
          rescue:
            - {name: inner rescue, do: {text: "{{ failure.step }}: {{ failure.message }}"}}
          always:
            - {name: inner always, do: {}}
        - {name: d, do: {}}
      rescue:
        - {name: outer rescue, do: {}}
      always:
        - {name: outer always, do: {}}
    - {name: after, do: {}}
`
	tests := map[string]struct {
		fail   []string
		want   []string
		broken bool
	}{
		"nothing fails": {nil, []string{"a", "b", "c", "inner always", "d", "outer always", "after"}, false},
		"rescued":       {[]string{"b"}, []string{"a", "b", "inner rescue b: failure requested by the test", "inner always", "d", "outer always", "after"}, false},
		"rescue fails": {[]string{"c", "inner rescue"},
			[]string{"a", "b", "c", "inner rescue c: failure requested by the test", "inner always", "outer rescue", "outer always", "after"}, false},
		"always fails": {[]string{"inner always"}, []string{"a", "b", "c", "inner always", "outer rescue", "outer always", "after"}, false},
		"all rescues fail": {[]string{"a", "outer rescue"},
			[]string{"a", "outer rescue", "outer always"}, true},
		"outer body": {[]string{"d"}, []string{"a", "b", "c", "inner always", "d", "outer rescue", "outer always", "after"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := of(1)
			s.fleet.onStep = failing(tt.fail...)
			report := s.run(t, t.Context(), site)
			if diff := cmp.Diff(tt.want, s.fleet.of("h1")); diff != "" {
				t.Error(diff)
			}
			if got := report.Hosts[0].Failure != nil; got != tt.broken {
				t.Errorf("broken: %v, want %v\n%s", got, tt.broken, summary(report))
			}
		})
	}
}

func TestAlwaysWithoutRescue(t *testing.T) {
	s := of(1)
	s.fleet.onStep = failing("a")
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - block: [{name: a, do: {}}, {name: b, do: {}}]
      always: [{name: c, do: {}}]
    - {name: d, do: {}}
`)
	if diff := cmp.Diff([]string{"a", "c"}, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
	if f := report.Hosts[0]; f.Failure == nil || f.FailedStep != "a" {
		t.Errorf("%+v", f)
	}
}

// TestFailureLeavesThrottle: a failed host leaves its throttle, whether a rescue part
// inside handles the failure or not.
func TestFailureLeavesThrottle(t *testing.T) {
	s := of(3)
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		if st.Name == "x" && host != "h3" {
			return "fail"
		}
		return ""
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - block:
        - throttle: 1
          block: [{name: x, do: {}}]
      rescue: [{name: r, do: {}}]
    - throttle: 1
      block: [{name: x, do: {}}, {name: y, do: {}}]
`)
	if len(report.Broken()) != 2 || !slices.Contains(s.fleet.of("h3"), "y") {
		t.Errorf("%s%v", summary(report), s.fleet.log)
	}
}

func TestIgnoreErrors(t *testing.T) {
	s := of(1)
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: a, do: {do: fail}, ignore_errors: true, register: a}
    - {name: b, do: {text: "{{ a.failed }} {{ a.message }}"}}
    - {name: act, act: {err: no}, ignore_errors: true, register: c}
    - {name: d, do: {text: "{{ c.message }}"}}
`)
	if diff := cmp.Diff([]string{"a", "b true failure requested by the test", "d no"}, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("h1 ok=4 changed=0 skipped=0 failed=0\n", summary(report)); diff != "" {
		t.Error(diff)
	}
}

func TestChangedWhenFailedWhen(t *testing.T) {
	tests := map[string]struct {
		task string
		want string
	}{
		"changed_when true":            {`{name: a, do: {say: {rc: 1}}, register: r, changed_when: r.rc == 1}`, "h1 ok=0 changed=1 skipped=0 failed=0\n"},
		"changed_when false":           {`{name: a, do: {do: change, say: {rc: 1}}, changed_when: result.rc == 2}`, "h1 ok=1 changed=0 skipped=0 failed=0\n"},
		"failed_when true":             {`{name: a, do: {say: {rc: 3}}, failed_when: result.rc > 2}`, `h1 ok=0 changed=0 skipped=0 failed=1 failure="failed_when holds: result.rc > 2"` + "\n"},
		"failed_when forgive":          {`{name: a, do: {do: fail, say: {rc: 3}}, failed_when: result.rc > 3}`, "h1 ok=1 changed=0 skipped=0 failed=0\n"},
		"failed_when of a program":     {`{name: a, do: {do: program fails, say: {rc: 3, ran: true}}, failed_when: false}`, "h1 ok=0 changed=1 skipped=0 failed=0\n"},
		"a program that did not start": {`{name: a, do: {do: program fails}, failed_when: false}`, "h1 ok=1 changed=0 skipped=0 failed=0\n"},
		"failed too early":             {`{name: a, do: {do: fail}, failed_when: result.rc > 3}`, `h1 ok=0 changed=0 skipped=0 failed=1 failure="failure requested by the test"` + "\n"},
		"not a condition":              {`{name: a, do: {say: {rc: 3}}, changed_when: result.rc}`, `h1 ok=0 changed=0 skipped=0 failed=1 failure="site.yaml:2:55: condition \"result.rc\" gives the number 3, want true or false"` + "\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := of(1)
			report := s.run(t, t.Context(), "- hosts: all\n  tasks: ["+tt.task+"]\n")
			if diff := cmp.Diff(tt.want, summary(report)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUntil(t *testing.T) {
	s := of(1)
	tries := 0
	s.fleet.onStep = func(_ string, st engine.Step, _ doArgs) string {
		if st.Name == "ask" {
			if tries++; tries >= 3 {
				return "change"
			}
		}
		return ""
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: before, do: {}}
    - {name: ask, do: {}, until: result.changed, retries: 5, delay: 1ms}
    - {name: after, do: {}}
    - {name: never, do: {}, until: result.changed, retries: 2, delay: 1ms}
`)
	if diff := cmp.Diff([]string{"before", "ask", "ask", "ask", "after", "never", "never", "never"}, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
	if f := report.Hosts[0].Failure; f == nil || f.Message != "until does not hold: result.changed" {
		t.Errorf("%+v", f)
	}
	var last engine.Result
	for _, e := range s.fleet.events {
		if e.Type == engine.EventStepEnd && e.Name == "ask" {
			last = *e.Result
		}
	}
	if last.Tries != 3 {
		t.Errorf("tries = %d, want 3", last.Tries)
	}
}

func TestActionRetriesTimeoutAndPanic(t *testing.T) {
	s := of(1)
	tries := 0
	s.fleet.action = func(ctx context.Context, name string, _ map[string]any, _ engine.ActionContext) (engine.Output, error) {
		switch name {
		case "flaky":
			if tries++; tries < 3 {
				return nil, errors.New("not yet")
			}
		case "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		case "panic":
			panic("boom")
		}
		return nil, nil
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: flaky, act: {name: flaky}, retries: 2, delay: 1ms}
    - {name: slow, act: {name: slow}, timeout: 5ms, ignore_errors: true, register: slow}
    - {name: say, do: {text: "{{ slow.message }}"}}
    - {name: panic, act: {name: panic}}
`)
	if diff := cmp.Diff([]string{"say not done within 5ms: context deadline exceeded"}, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
	f := report.Hosts[0].Failure
	if f == nil || !strings.Contains(f.Message, "internal error in act: boom") || !strings.Contains(f.Detail, "failure_test.go") {
		t.Errorf("%+v", f)
	}
}

func TestConnectRetries(t *testing.T) {
	s := of(3)
	s.fleet.connect = func(host string, try int) error {
		switch {
		case host == "h1" && try < 3:
			return flaky{"connection refused"}
		case host == "h2":
			return errors.New("host key changed")
		case host == "h3":
			return flaky{"no route to host"}
		}
		return nil
	}
	report := s.run(t, t.Context(), "- hosts: all\n  tasks: [{name: a, do: {}}]\n")
	want := `h1 ok=1 changed=0 skipped=0 failed=0
h2 ok=0 changed=0 skipped=0 failed=0 failure="host key changed" unreachable
h3 ok=0 changed=0 skipped=0 failed=0 failure="no route to host (tried 4 times)" unreachable
`
	if diff := cmp.Diff(want, summary(report)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"h1": 3, "h2": 1, "h3": 4}, s.fleet.tries); diff != "" {
		t.Error(diff)
	}
}

// TestLostConnectionContinues: completed steps are not repeated after a lost connection, and
// a step that may have changed something before the loss notifies its handler.
func TestLostConnectionContinues(t *testing.T) {
	s := of(1)
	lost := false
	s.fleet.onStep = func(_ string, st engine.Step, _ doArgs) string {
		if st.Name == "b" && !lost {
			lost = true
			return "lose"
		}
		return ""
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: a, do: {do: change}, notify: after a}
    - {name: b, do: {do: ok}, notify: after b}
    - {name: c, do: {do: ok}, notify: after c}
  handlers:
    - {name: after a, do: {}}
    - {name: after b, do: {}}
    - {name: after c, do: {}}
`)
	if diff := cmp.Diff([]string{"a", "b", "b", "c", "after a", "after b"}, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
	if len(report.Broken()) > 0 {
		t.Error(summary(report))
	}
}

// journaled is a fake host that returns the journal of its steps before the loss.
type journaled struct {
	*fakeHost
	entries []engine.JournalEntry
}

func (j journaled) Journal(context.Context, string) ([]engine.JournalEntry, error) {
	return j.entries, nil
}

type journaling struct {
	*fleet
	entries []engine.JournalEntry
}

func (j journaling) Connect(ctx context.Context, host string) (session.Session, error) {
	h, err := j.fleet.Connect(ctx, host)
	if err != nil {
		return nil, err
	}
	return &journaled{h.(*fakeHost), j.entries}, nil
}

func TestJournalOnTheHostDecides(t *testing.T) {
	tests := map[string]struct {
		entries []engine.JournalEntry
		want    []string
	}{
		"never begun":         {nil, []string{"b", "b"}},
		"begun and cut short": {[]engine.JournalEntry{{Step: "1.play.1", Begun: true}}, []string{"b", "b", "h"}},
		"changed": {[]engine.JournalEntry{{Step: "1.play.1", Begun: true}, {Step: "1.play.1", Status: engine.StatusChanged}},
			[]string{"b", "b", "h"}},
		"was fine": {[]engine.JournalEntry{{Step: "1.play.1", Status: engine.StatusOK}}, []string{"b", "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := of(1)
			lost := false
			s.fleet.onStep = func(_ string, st engine.Step, _ doArgs) string {
				if st.Name == "b" && !lost {
					lost = true
					return "lose"
				}
				return ""
			}
			s.opts = func(o *Options) { o.Connector = journaling{s.fleet, tt.entries} }
			s.run(t, t.Context(), `
- hosts: all
  tasks: [{name: b, do: {do: ok}, notify: h}]
  handlers: [{name: h, do: {}}]
`)
			if diff := cmp.Diff(tt.want, s.fleet.of("h1")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStepThatBreaksTheConnection(t *testing.T) {
	s := of(1)
	s.fleet.onStep = func(_ string, st engine.Step, _ doArgs) string {
		if st.Name == "b" {
			return "lose"
		}
		return ""
	}
	report := s.run(t, t.Context(), "- hosts: all\n  tasks: [{name: a, do: {}}, {name: b, do: {}}]\n")
	h := report.Hosts[0]
	if !h.Unreachable || !strings.Contains(h.Failure.Message, `connection lost in step "b"`) {
		t.Errorf("%+v %v", h, h.Failure)
	}
	if n := len(s.fleet.of("h1")); n != 1+1+maxIdleLosses {
		t.Errorf("%d steps were tried: %v", n, s.fleet.of("h1"))
	}
}

func TestUnreachableIsNotRescued(t *testing.T) {
	s := of(1)
	s.fleet.onStep = func(string, engine.Step, doArgs) string { return "lose" }
	s.fleet.connect = func(_ string, try int) error {
		if try > 1 {
			return errors.New("gone")
		}
		return nil
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - block: [{name: a, do: {}}]
      rescue: [{name: b, do: {}}]
`)
	if h := report.Hosts[0]; !h.Unreachable || h.FailedStep != "a" || len(s.fleet.of("h1")) != 1 {
		t.Errorf("%+v %v", h, s.fleet.of("h1"))
	}
}

func TestInterruptEndsAfterTheStepInFlight(t *testing.T) {
	s := of(2)
	interrupt := make(chan struct{})
	begun := make(chan struct{}, 2)
	s.fleet.onStep = func(_ string, st engine.Step, _ doArgs) string {
		if st.Name == "b" {
			begun <- struct{}{}
			<-interrupt
			time.Sleep(200 * time.Millisecond) // time for the run to handle the interrupt
		}
		return ""
	}
	s.opts = func(o *Options) { o.Interrupt = interrupt }
	go func() {
		<-begun
		<-begun
		close(interrupt)
	}()
	report := s.run(t, t.Context(), "- hosts: all\n  tasks: [{name: a, do: {}}, {name: b, do: {}}, {name: c, do: {}}, {name: d, do: {}}]\n")
	for _, h := range report.Hosts {
		if diff := cmp.Diff([]string{"a", "b"}, s.fleet.of(h.Host)); diff != "" {
			t.Error(diff)
		}
		if !h.Cancelled || h.Failure != nil || h.OK != 2 {
			t.Errorf("%+v", h)
		}
	}
	if !report.Interrupted || report.Aborted != "" {
		t.Errorf("%+v", report)
	}
}

// TestInterruptEndsGatesButNotChanges: an interrupt ends an action that only waits,
// and lets an action that changes something end.
func TestInterruptEndsGatesButNotChanges(t *testing.T) {
	s := of(2)
	interrupt := make(chan struct{})
	begun := make(chan struct{}, 2)
	changed := false
	s.fleet.action = func(ctx context.Context, name string, _ map[string]any, _ engine.ActionContext) (engine.Output, error) {
		begun <- struct{}{}
		if name == "gate" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
			changed = true
		}
		return nil, ctx.Err()
	}
	s.opts = func(o *Options) { o.Interrupt = interrupt }
	go func() {
		<-begun
		<-begun
		close(interrupt)
	}()
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: gate, act: {name: gate, gate: true}, when: host.name == "h1"}
    - {name: change, act: {name: change}, when: host.name == "h2"}
    - {name: after, do: {}}
`)
	if !changed || len(s.fleet.log) > 0 || !report.Interrupted {
		t.Errorf("changed: %v, log %v, %+v", changed, s.fleet.log, report)
	}
	want := "h1 ok=0 changed=0 skipped=0 failed=0 cancelled\nh2 ok=0 changed=1 skipped=1 failed=0 cancelled\n"
	if diff := cmp.Diff(want, summary(report)); diff != "" {
		t.Error(diff)
	}
}

func TestCancelStopsAtOnceAndSaysWhy(t *testing.T) {
	s := of(3)
	ctx, cancel := context.WithCancelCause(t.Context())
	s.fleet.delay = time.Minute
	s.fleet.action = func(ctx context.Context, _ string, _ map[string]any, _ engine.ActionContext) (engine.Output, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.AfterFunc(20*time.Millisecond, func() { cancel(errors.New("second interrupt")) })
	began := time.Now()
	report := s.run(t, ctx, `
- hosts: all
  tasks:
    - {name: wait, act: {}, when: host.name == "h1"}
    - {name: slow, do: {}, when: host.name == "h2"}
    - {name: barrier, do: {}, barrier: true}
`)
	if time.Since(began) > 5*time.Second {
		t.Error("it took too long")
	}
	for _, h := range report.Hosts {
		if !h.Cancelled || h.Failure != nil {
			t.Errorf("%+v %v", h, h.Failure)
		}
	}
	if !report.Interrupted || report.Aborted != "second interrupt" {
		t.Errorf("%+v", report)
	}
}
