package schedule

import (
	"errors"
	"slices"
	"testing"
	"time"

	"deployer/engine"
)

// TestRunOnceElectsTheFirst: the election does not depend on the speed of hosts, so that a
// run executes the task on the host that its plan shows.
func TestRunOnceElectsTheFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		tasks string
		want  string // the host that does it
	}{
		"all hosts reach it":         {"- {name: once, do: {do: change}, run_once: true}", "h1"},
		"in a block":                 {"- block: [{name: once, do: {do: change}, run_once: true}]", "h1"},
		"first host skips it":        {"- {name: once, do: {do: change}, run_once: true, when: host.name != 'h1'}", "h2"},
		"first hosts skip its block": {"- {block: [{name: once, do: {do: change}, run_once: true}], when: host.name == 'h3'}", "h3"},
		"first host is lost":         {"- {name: once, do: {do: change}, run_once: true}", "h2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := of(3)
			s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
				if st.Name == "first" && host == "h1" {
					time.Sleep(20 * time.Millisecond) // the other hosts arrive long before
				}
				return ""
			}
			if name == "first host is lost" {
				s.fleet.connect = func(host string, _ int) error {
					if host == "h1" {
						time.Sleep(20 * time.Millisecond)
						return errors.New("gone for good")
					}
					return nil
				}
			}
			report := s.run(t, t.Context(), `
- hosts: all
  max_fail: {all: 1}
  tasks:
    - {name: first, do: {}, register: r}
    - {name: wait for the result, do: {text: "{{ r.changed }}"}}
    `+tt.tasks+`
    - {name: last, do: {}}
`)
			var did []string
			for _, h := range s.inv.hosts {
				if slices.Contains(s.fleet.of(h), "once") {
					did = append(did, h)
				}
			}
			if !slices.Equal(did, []string{tt.want}) {
				t.Errorf("done by %v, want %s\n%s", did, tt.want, summary(report))
			}
			for _, h := range report.Hosts {
				if !h.Unreachable && !slices.Contains(s.fleet.of(h.Host), "last") {
					t.Errorf("%s did not come to the end: %+v", h.Host, h)
				}
			}
		})
	}
}

// TestRunOnceWithoutTheFirst: when the first host waits for hosts that wait for it,
// another host runs the task.
func TestRunOnceWithoutTheFirst(t *testing.T) {
	s := of(3)
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: after the others, do: {}, needs: [{label: up, count: 2}], when: host.name == 'h1'}
    - {name: once, do: {do: change}, run_once: true}
    - {name: up, do: {}, label: up}
`)
	if len(report.Broken()) > 0 || report.Aborted != "" || !slices.Contains(s.fleet.of("h2"), "once") {
		t.Errorf("aborted %q, h2 did %v\n%s", report.Aborted, s.fleet.of("h2"), summary(report))
	}
}

// TestRunOnceInThrottle: the elected host does not wait for later arrivals.
func TestRunOnceInThrottle(t *testing.T) {
	s := of(3)
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - throttle: 1
      block: [{name: once, do: {do: change}, run_once: true, register: r}, {name: use, do: {text: "{{ r.changed }}"}}]
`)
	if report.Aborted != "" || len(report.Broken()) > 0 {
		t.Errorf("%s", summary(report))
	}
}
