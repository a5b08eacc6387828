package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/lock"
)

// rebooting returns a scenario with an action that loses the connection, and hosts
// that come back.
func rebooting(hosts int, within time.Duration) *scenario {
	s := of(hosts)
	s.fleet.action = func(ctx context.Context, _ string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		_, err := actx.RunOn(ctx, actx.Host(), "do", &doArgs{Do: "lose"})
		if err == nil {
			return nil, errors.New("the connection was not lost")
		}
		s.fleet.mu.Lock()
		s.fleet.tries[actx.Host()] = 0
		s.fleet.mu.Unlock()
		late, cancel := context.WithTimeoutCause(ctx, within, errors.New("not back in time"))
		defer cancel()
		return engine.Output{"step": actx.Step()}, actx.Reconnect(late)
	}
	return s
}

const rebootThenGoOn = `
- hosts: all
  tasks:
    - {name: reboot, act: {}, throttle: 1, register: r}
    - {name: go on, do: {text: "{{ facts.arch }} {{ r.step }}"}}
`

// TestReconnect: a host that an action has rebooted may be away for longer than other
// lost hosts; it emits no retries meanwhile, is locked again, has new facts, and
// continues with its next step.
func TestReconnect(t *testing.T) {
	t.Parallel()
	s := rebooting(3, time.Minute)
	claiming(s, "a", 0)
	first := map[string]bool{}
	s.fleet.arch = map[string]string{}
	s.fleet.connect = func(host string, try int) error {
		s.fleet.mu.Lock()
		defer s.fleet.mu.Unlock()
		if !first[host] {
			first[host] = true
			return nil
		}
		if try < 12 {
			return fmt.Errorf("no route to %s", host) // an error that would be final
		}
		s.fleet.arch[host] = "arm64"
		return nil
	}
	report := s.run(t, t.Context(), rebootThenGoOn)
	if len(report.Broken()) > 0 || report.Aborted != "" {
		t.Fatalf("aborted %q\n%s", report.Aborted, summary(report))
	}
	for _, h := range hostNames(3) {
		if got := s.fleet.of(h); !slices.Contains(got, "go on arm64 site.yaml/1.play.1/reboot") {
			t.Errorf("%s did %q", h, got)
		}
	}
	for _, e := range s.fleet.events {
		if e.Type == engine.EventHostRetry || e.Type == engine.EventHostParked {
			t.Errorf("%s is told: %s", e.Host, e.Text)
		}
	}
}

// TestReconnectTimeout: a host that does not come back fails its step with the last
// error of the connection.
func TestReconnectTimeout(t *testing.T) {
	t.Parallel()
	s := rebooting(1, 50*time.Millisecond)
	s.fleet.connect = func(_ string, try int) error {
		if s.fleet.closed > 0 {
			return fmt.Errorf("refused, try %d", try)
		}
		return nil
	}
	report := s.run(t, t.Context(), rebootThenGoOn)
	if f := report.Hosts[0].Failure; f == nil || !strings.HasPrefix(f.Message, "not back in time: refused, try ") || report.Hosts[0].FailedStep != "reboot" {
		t.Errorf("failure %+v", f)
	}
}

// TestReconnectToOthersHost: another run has locked the host while it was away. The
// present run is aborted and names the other one.
func TestReconnectToOthersHost(t *testing.T) {
	t.Parallel()
	s := rebooting(1, time.Minute)
	claiming(s, "a", 0)
	other := &fakeHost{fleet: s.fleet, name: "h1"}
	s.fleet.connect = func(string, int) error {
		if s.fleet.closed > 0 {
			_ = other.Lock(t.Context(), lock.Holder{Run: "b", Verb: "run", By: "bob@ci", Since: time.Now()})
		}
		return nil
	}
	report := s.run(t, t.Context(), rebootThenGoOn)
	if !strings.Contains(report.Aborted, "run b (run) by bob@ci holds the lock on h1") {
		t.Errorf("aborted %q\n%s", report.Aborted, summary(report))
	}
}

// TestReconnectToHostThatStays: the error for a host that does not go down differs
// from that for a host that does not come back.
func TestReconnectToHostThatStays(t *testing.T) {
	t.Parallel()
	s := of(1)
	s.fleet.action = func(ctx context.Context, _ string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		late, cancel := context.WithTimeoutCause(ctx, 20*time.Millisecond, errors.New("not back in time"))
		defer cancel()
		return nil, actx.Reconnect(late)
	}
	report := s.run(t, t.Context(), rebootThenGoOn)
	if f := report.Hosts[0].Failure; f == nil || f.Message != "not back in time: it has not gone down, its agent still answers" {
		t.Errorf("failure %+v", f)
	}
}
