package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/session"
)

func TestDelegate(t *testing.T) {
	tests := map[string]struct {
		site string
		want map[string][]string // host -> what ran there
	}{
		"variables, result and handlers are those of the play's host": {`
- hosts: h1
  tasks:
    - {name: drain, do: {text: "{{ host.name }}", do: change}, delegate_to: lb, register: drained, notify: h}
    - {name: use, do: {text: "{{ drained.changed }}"}}
  handlers: [{name: h, do: {}}]
`, map[string][]string{"h1": {"use true", "h"}, "lb": {"drain h1"}}},
		"delegate by a template": {`
- hosts: h1
  vars: {peer: h2}
  tasks: [{name: a, do: {}}, {name: tell, do: {text: "{{ host.name }}"}, delegate_to: "{{ peer }}"}, {name: b, do: {}}]
`, map[string][]string{"h1": {"a", "b"}, "h2": {"tell h1"}}},
		"each item of a loop": {`
- hosts: h1
  tasks: [{name: a, do: {text: "{{ item }}"}, loop: [lb, h1, lb], delegate_to: "{{ item }}", register: r}, {name: b, do: {text: "{{ len(r.results) }}"}}]
`, map[string][]string{"h1": {"a h1", "b 3"}, "lb": {"a lb", "a lb"}}},
		"run_once": {`
- hosts: all
  serial: 2
  tasks: [{name: a, do: {}, run_once: true, delegate_to: lb, register: r}, {name: b, do: {text: "{{ r.changed }}"}}]
`, map[string][]string{"h1": {"b false"}, "h2": {"b false"}, "lb": {"a"}}},
		"inherited from a block, by handlers, not by actions": {`
- hosts: h1
  tasks:
    - delegate_to: lb
      block: [{name: a, do: {do: change}, notify: h}, {name: b, act: {}}, {name: c, do: {}, delegate_to: h1}]
  handlers: [{name: h, do: {}, delegate_to: lb}]
`, map[string][]string{"h1": {"c"}, "lb": {"a", "h"}}},
		"condition with variables of the play's host": {`
- hosts: all
  tasks: [{name: a, do: {text: "{{ host.name }}"}, delegate_to: lb, when: host.name == "h2"}]
`, map[string][]string{"lb": {"a h2"}}},
		"until": {`
- hosts: h1
  tasks: [{name: a, do: {say: {n: 1}}, delegate_to: lb, register: r, until: r.n == 1}, {name: b, do: {text: "{{ r.n }}"}}]
`, map[string][]string{"h1": {"b 1"}, "lb": {"a"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := of(2)
			report := s.run(t, t.Context(), tt.site)
			if len(report.Broken()) > 0 || len(report.Hosts) > 2 {
				t.Error(summary(report))
			}
			for _, host := range []string{"h1", "h2", "lb"} {
				if diff := cmp.Diff(tt.want[host], s.fleet.of(host)); diff != "" {
					t.Errorf("on %s: %s", host, diff)
				}
			}
		})
	}
}

// TestDelegateInResults: events name the host and its delegate; steps of many hosts
// on one machine have different ids there.
func TestDelegateInResults(t *testing.T) {
	s := of(2)
	var mu sync.Mutex
	var ids []string
	s.fleet.onStep = func(_ string, st engine.Step, _ doArgs) string {
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, st.ID)
		return ""
	}
	s.run(t, t.Context(), "- hosts: all\n  tasks: [{name: a, do: {}, delegate_to: lb}]\n")
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"1.play.1/h1", "1.play.1/h2"}, ids); diff != "" {
		t.Error(diff)
	}
	ends := 0
	for _, e := range s.fleet.events {
		if e.Type == engine.EventStepEnd && e.Step == "1.play.1" && e.Result.Delegate == "lb" && e.Result.Host == e.Host && e.Host != "lb" {
			ends++
		}
	}
	if ends != 2 || s.fleet.tries["lb"] != 1 {
		t.Errorf("%d ends of the step, connected %d times", ends, s.fleet.tries["lb"])
	}
}

func TestDelegateErrors(t *testing.T) {
	tests := map[string]struct {
		connect func(host string, try int) error
		step    func(try int) string
		want    string   // failure of h1
		ran     []string // on lb
	}{
		"delegate is unreachable": {
			connect: func(host string, _ int) error {
				if host == "lb" {
					return errors.New("no route to host")
				}
				return nil
			},
			want: "delegated to lb: no route to host",
		},
		"delegate connects late": {
			connect: func(host string, try int) error {
				if host == "lb" && try < 3 {
					return flaky{"refused"}
				}
				return nil
			},
			ran: []string{"a"},
		},
		"connection is lost and restored": {
			step: func(try int) string { return map[int]string{1: "lose"}[try] },
			ran:  []string{"a", "a"},
		},
		"connection is lost repeatedly": {
			step: func(int) string { return "lose" },
			want: "delegated to lb: connection lost",
			ran:  []string{"a", "a", "a", "a"},
		},
		"step fails on the delegate": {
			step: func(int) string { return "fail" },
			want: "failure requested by the test",
			ran:  []string{"a"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := of(1)
			s.fleet.connect = tt.connect
			tries := 0
			s.fleet.onStep = func(host string, _ engine.Step, _ doArgs) string {
				if host != "lb" || tt.step == nil {
					return ""
				}
				tries++
				return tt.step(tries)
			}
			report := s.run(t, t.Context(), "- hosts: all\n  tasks: [{name: a, do: {}, delegate_to: lb, notify: h}]\n  handlers: [{name: h, do: {}}]\n")
			got := ""
			if f := report.Hosts[0].Failure; f != nil {
				got = f.Message
			}
			if got != tt.want || report.Hosts[0].Unreachable {
				t.Errorf("failure %q, want %q\n%s", got, tt.want, summary(report))
			}
			if diff := cmp.Diff(tt.ran, s.fleet.of("lb")); diff != "" {
				t.Error(diff)
			}
			// A step that had begun when the connection was lost may have changed something.
			if handled := slices.Contains(s.fleet.of("h1"), "h"); handled != (tries == 2) {
				t.Errorf("the handler ran: %v", handled)
			}
		})
	}
}

// TestDelegateLostIsRescued: the loss of the delegate is a failure of the task, not of the
// connection to the host.
func TestDelegateLostIsRescued(t *testing.T) {
	s := of(1)
	s.fleet.connect = func(host string, _ int) error {
		if host == "lb" {
			return errors.New("gone")
		}
		return nil
	}
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - block: [{name: a, do: {}, delegate_to: lb}]
      rescue: [{name: saved, do: {text: "{{ failure.message }}"}}]
    - {name: b, do: {}, delegate_to: lb, ignore_errors: true}
    - {name: c, do: {}}
`)
	if diff := cmp.Diff([]string{"saved delegated to lb: gone", "c"}, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
	if s.fleet.tries["lb"] != 1 {
		t.Errorf("a machine that was given up was tried %d times", s.fleet.tries["lb"])
	}
}

func TestDelegateToLocalhost(t *testing.T) {
	const site = "- hosts: all\n  tasks: [{name: a, do: {}, delegate_to: localhost}]\n"
	s := of(1)
	report := s.run(t, t.Context(), site)
	if f := report.Hosts[0].Failure; f == nil || f.Message != "delegated to localhost: this run can do nothing on the machine that deployer runs on" {
		t.Errorf("without a connector: %+v", f)
	}
	s = of(1)
	here := newFleet()
	s.opts = func(o *Options) { o.Local = here }
	s.run(t, t.Context(), site)
	if diff := cmp.Diff([]string{"a"}, here.of("localhost")); diff != "" || here.opened != 1 || here.closed != 1 {
		t.Errorf("%s; opened %d, closed %d", diff, here.opened, here.closed)
	}
	s = of(1) // a host of the inventory may have the name localhost
	s.inv.hosts = []string{"localhost"}
	s.run(t, t.Context(), site)
	if diff := cmp.Diff([]string{"a"}, s.fleet.of("localhost")); diff != "" {
		t.Error(diff)
	}
}

// TestDelegatedStepsAreBounded: delegated steps share the forks of the run, and their number
// on one agent is limited.
func TestDelegatedStepsAreBounded(t *testing.T) {
	s := of(60)
	s.fleet.delay = time.Millisecond
	s.opts = func(o *Options) { o.Forks = 40 }
	var mu sync.Mutex
	inside, most := 0, 0
	s.fleet.onStep = func(host string, _ engine.Step, _ doArgs) string {
		if host != "lb" {
			return ""
		}
		mu.Lock()
		inside++
		most = max(most, inside)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		inside--
		mu.Unlock()
		return ""
	}
	report := s.run(t, t.Context(), "- hosts: all\n  tasks: [{name: a, do: {}, delegate_to: lb}, {name: b, do: {}}]\n")
	if most > session.MaxDelegated || most < 2 || s.fleet.maxBusy > 40 || len(report.Broken()) > 0 {
		t.Errorf("%d at once on lb, %d busy\n%s", most, s.fleet.maxBusy, summary(report))
	}
	if n := len(s.fleet.of("lb")); n != 60 {
		t.Errorf("%d steps on lb", n)
	}
}

// TestDelegatesAreNotLocked: the run locks its hosts and not the hosts that it
// delegates to.
func TestDelegatesAreNotLocked(t *testing.T) {
	s := of(2)
	claiming(s, "a", 0)
	locked := map[string]bool{}
	s.fleet.onStep = func(host string, _ engine.Step, _ doArgs) string {
		s.fleet.locks.mu.Lock()
		defer s.fleet.locks.mu.Unlock()
		locked[host] = s.fleet.locks.byHost[host] != nil
		return ""
	}
	s.run(t, t.Context(), "- hosts: h1\n  tasks: [{name: a, do: {}, loop: [lb, h1], delegate_to: '{{ item }}'}]\n")
	if diff := cmp.Diff(map[string]bool{"h1": true, "lb": false}, locked); diff != "" {
		t.Error(diff)
	}
}

// TestInterruptedDelegate: an interrupt during a delegated step counts as a failure
// of neither machine.
func TestInterruptedDelegate(t *testing.T) {
	s := of(1)
	interrupt := make(chan struct{})
	var once sync.Once
	s.fleet.onStep = func(string, engine.Step, doArgs) string {
		once.Do(func() { close(interrupt) })
		time.Sleep(10 * time.Millisecond)
		return ""
	}
	s.opts = func(o *Options) { o.Interrupt = interrupt }
	report := s.run(t, t.Context(), "- hosts: all\n  tasks: [{name: a, do: {}, delegate_to: lb}, {name: b, do: {}}]\n")
	if !report.Interrupted || len(report.Broken()) > 0 || len(s.fleet.of("h1")) > 0 {
		t.Errorf("%+v\n%s", report, summary(report))
	}
}

// TestDelegateArchitecture: an artifact is chosen for the architecture of the
// delegate.
func TestDelegateArchitecture(t *testing.T) {
	s := of(1)
	var archs []string
	s.opts = func(o *Options) {
		o.Artifacts = artifactsFunc(func(arch string) { archs = append(archs, arch) })
	}
	s.fleet.arch = map[string]string{"lb": "arm64"}
	s.run(t, t.Context(), "- hosts: all\n  tasks: [{name: a, fetch: {}}, {name: b, fetch: {}, delegate_to: lb}]\n")
	if diff := cmp.Diff([]string{"amd64", "arm64"}, archs); diff != "" {
		t.Error(diff)
	}
}

type artifactsFunc func(arch string)

func (f artifactsFunc) Artifact(_ context.Context, _, _, arch string) (engine.Blob, error) {
	f(arch)
	return engine.Blob{}, nil
}

type fetchArgs struct{}

func (*fetchArgs) Prepare(ctx context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	b, err := c.Artifact(ctx, "x", "1")
	return "do", &doArgs{Do: "ok", Text: strings.TrimSpace(fmt.Sprint(b.Digest))}, err
}
