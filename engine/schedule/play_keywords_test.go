package schedule

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// failOn makes one step fail on one host.
func failOn(host, name string) func(string, engine.Step, doArgs) string {
	return func(h string, st engine.Step, _ doArgs) string {
		if h == host && st.Name == name {
			return "fail"
		}
		return ""
	}
}

func TestAnyErrorsFatal(t *testing.T) {
	for word, aborted := range map[string]string{
		"any_errors_fatal: true": `h2 failed in play "all", for which any_errors_fatal is set: failure requested by the test`, "any_errors_fatal: false": ""} {
		s := of(4)
		s.fleet.onStep = failOn("h2", "a")
		report := s.run(t, t.Context(), "- hosts: all\n  "+word+"\n  tasks: [{name: a, do: {}}, {name: b, do: {}, barrier: true}]\n")
		if report.Aborted != aborted || slices.Contains(s.fleet.of("h3"), "b") != (aborted == "") {
			t.Errorf("%s: %q, %v", word, report.Aborted, s.fleet.log)
		}
	}
	s := of(2)
	s.fleet.onStep = failOn("h2", "a")
	report := s.run(t, t.Context(), "- hosts: all\n  any_errors_fatal: true\n  tasks: [{block: [{name: a, do: {}}], rescue: [{name: saved, do: {}}]}]\n")
	if report.Aborted != "" {
		t.Errorf("a failure that was rescued: %q", report.Aborted)
	}
}

func TestForceHandlers(t *testing.T) {
	for word, want := range map[string][]string{
		"true": {"a", "b", "h", "i"}, "false": {"a", "b"}} {
		s := of(1)
		s.fleet.onStep = failOn("h1", "b")
		report := s.run(t, t.Context(), `
- hosts: all
  force_handlers: `+word+`
  tasks:
    - {name: a, do: {do: change}, notify: [h, i]}
    - {name: b, do: {}}
    - {name: c, do: {}}
  handlers: [{name: h, do: {}}, {name: i, do: {do: fail}}, {name: j, do: {}}]
`)
		if diff := cmp.Diff(want, s.fleet.of("h1")); diff != "" {
			t.Error(diff)
		}
		if report.Hosts[0].FailedStep != "b" {
			t.Errorf("blamed: %q", report.Hosts[0].FailedStep)
		}
	}
}

func TestForksOfAPlay(t *testing.T) {
	s := of(12)
	var mu sync.Mutex
	busy, most := 0, map[string]int{}
	s.fleet.onStep = func(_ string, st engine.Step, _ doArgs) string {
		mu.Lock()
		busy++
		most[st.Name] = max(most[st.Name], busy)
		mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		mu.Lock()
		busy--
		mu.Unlock()
		return ""
	}
	report := s.run(t, t.Context(), `
- hosts: all
  forks: 2
  tasks: [{name: few, do: {}}, {name: few, do: {}, barrier: true}]
- hosts: all
  barrier: true
  tasks: [{name: many, do: {}}]
`)
	if most["few"] > 2 || most["many"] < 3 || len(report.Broken()) > 0 {
		t.Errorf("%v\n%s", most, summary(report))
	}
}

// TestConfirm: the user is asked once for each task, for all hosts of the batch.
func TestConfirm(t *testing.T) {
	tests := map[string]struct {
		answers map[string]Answer
		asked   []string
		ran     []string
	}{
		"yes":  {map[string]Answer{}, []string{"a: h1 h2", "b: h1 h2", "c: h1 h2"}, []string{"a", "b", "c", "h"}},
		"no":   {map[string]Answer{"b": No}, []string{"a: h1 h2", "b: h1 h2", "c: h1 h2"}, []string{"a", "c"}},
		"rest": {map[string]Answer{"b": YesToAll}, []string{"a: h1 h2", "b: h1 h2"}, []string{"a", "b", "c", "h"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := of(2)
			s.step = true
			var mu sync.Mutex
			var asked []string
			s.opts = func(o *Options) {
				o.Confirm = func(_ context.Context, task string, hosts []string) Answer {
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, task+": "+strings.Join(hosts, " "))
					return tt.answers[task]
				}
			}
			s.run(t, t.Context(), `
- hosts: all
  tasks: [{name: a, do: {}}, {name: b, do: {do: change}, notify: h}, {name: c, do: {}, when: 1 == 1}]
  handlers: [{name: h, do: {}}]
`)
			if diff := cmp.Diff(tt.asked, asked); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.ran, s.fleet.of("h2")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
