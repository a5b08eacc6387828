package schedule

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// TestOneSegment: steps that need no answer from the controller are sent in one segment,
// handlers included.
func TestOneSegment(t *testing.T) {
	s := of(2)
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: first, do: {do: change}, notify: reload}
    - {name: second, do: {text: "on {{ host.name }}, arch {{ facts.arch }}"}}
    - {name: no, do: {}, when: host.name == "nobody"}
    - {name: "item {{ item }}", do: {}, loop: [a, b]}
  handlers:
    - {name: never, do: {}}
    - {name: reload, do: {}}
- hosts: all
  tasks:
    - {name: next play, do: {}}
`)
	want := []string{"first", "second on h1, arch amd64", "item a", "item b", "reload", "next play"}
	if diff := cmp.Diff(want, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
	if got := s.fleet.flights["h1"]; got != 1 {
		t.Errorf("h1 was sent %d segments, want 1", got)
	}
	wantSummary := "h1 ok=5 changed=1 skipped=1 failed=0\nh2 ok=5 changed=1 skipped=1 failed=0\n"
	if diff := cmp.Diff(wantSummary, summary(report)); diff != "" {
		t.Error(diff)
	}
}

func TestHandlerWithoutChange(t *testing.T) {
	s := of(1)
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: same, do: {do: ok}, notify: reload}
  handlers:
    - {name: reload, do: {}}
`)
	if diff := cmp.Diff([]string{"same"}, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("h1 ok=1 changed=0 skipped=0 failed=0\n", summary(report)); diff != "" {
		t.Error(diff)
	}
}

// TestRegisterEndsTheSegment: only a task that reads the result waits for it.
func TestRegisterEndsTheSegment(t *testing.T) {
	s := of(1)
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: ask, do: {say: {port: 6443, names: [x, y]}}, register: answer}
    - {name: not yet, do: {}}
    - {name: use, do: {text: "{{ answer.port }} {{ answer.changed }}"}}
    - {name: loop, do: {text: "{{ item }}"}, loop: answer.names}
    - {name: cond, do: {}, when: [answer.port == 6443, not answer.failed]}
`)
	want := []string{"ask", "not yet", "use 6443 false", "loop x", "loop y", "cond"}
	if diff := cmp.Diff(want, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
	if got := s.fleet.flights["h1"]; got != 2 {
		t.Errorf("sent %d segments, want 2", got)
	}
}

func TestTemplateFileReadsPendingResult(t *testing.T) {
	s := of(1)
	s.files = []string{"templates/a.tmpl", "{{ answer.port }}", "templates/b.tmpl", "static"}
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: ask, do: {say: {port: 1}}, register: answer}
    - {name: b, tmpl: {src: b.tmpl}}
    - {name: a, tmpl: {src: a.tmpl}}
`)
	if diff := cmp.Diff([]string{"ask", "b static", "a 1"}, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
	if got := s.fleet.flights["h1"]; got != 2 {
		t.Errorf("sent %d segments, want 2", got)
	}
}

func TestActions(t *testing.T) {
	s := of(2)
	s.fleet.action = func(_ context.Context, name string, with map[string]any, actx engine.ActionContext) (engine.Output, error) {
		got := actx.Registered(actx.Host(), "probe")
		return engine.Output{"sum": fmt.Sprintf("%s:%v:%v:%v:%v", name, with["port"], got["v"], actx.Vars()["answer"], actx.Targets())}, nil
	}
	s.run(t, t.Context(), `
- hosts: all
  vars: {answer: 42}
  tasks:
    - {name: probe, do: {say: {v: "{{ host.name }}"}}, register: probe}
    - {name: act, act: {name: x, with: {port: 1}}, register: sum}
    - {name: show, do: {text: "{{ sum.sum }}"}}
`)
	if diff := cmp.Diff([]string{"probe", "show x:1:h2:42:[h1 h2]"}, s.fleet.of("h2")); diff != "" {
		t.Error(diff)
	}
}

func TestFailureOfOneHost(t *testing.T) {
	s := of(3)
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		if host == "h2" && st.Name == "b" {
			return "fail"
		}
		return ""
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: a, do: {}}
    - {name: b, do: {}}
    - {name: c, do: {}}
    - {name: d, do: {}, barrier: true}
`)
	want := `h1 ok=4 changed=0 skipped=0 failed=0
h2 ok=1 changed=0 skipped=0 failed=1 failure="failure requested by the test"
h3 ok=4 changed=0 skipped=0 failed=0
`
	if diff := cmp.Diff(want, summary(report)); diff != "" {
		t.Error(diff)
	}
	if report.Hosts[1].FailedStep != "b" {
		t.Errorf("failed step is %q", report.Hosts[1].FailedStep)
	}
}

// TestUserAndEnvironment: the step contains the user and the environment, rendered
// for each host.
func TestUserAndEnvironment(t *testing.T) {
	s := of(2)
	var mu sync.Mutex
	got := map[string]string{}
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		mu.Lock()
		defer mu.Unlock()
		got[host+" "+st.Name] = strings.Join(append([]string{st.User}, st.Env...), " ")
		return ""
	}
	s.run(t, t.Context(), `
- hosts: all
  environment: {FROM: "{{ host.name }}"}
  tasks:
    - {name: a, sh: {}, become_user: "u-{{ host.name }}", loop: [1], environment: {N: "{{ item }}"}}
    - {name: b, do: {}}
`)
	want := map[string]string{"h1 a": "u-h1 FROM=h1 N=1", "h2 a": "u-h2 FROM=h2 N=1", "h1 b": " FROM=h1", "h2 b": " FROM=h2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUndefinedVariableNamesItsPlace(t *testing.T) {
	s := of(1)
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: a, do: {}}
    - name: b
      do:
        text: "port {{ hots.name }}"
`)
	want := "h1 ok=1 changed=0 skipped=0 failed=1 failure=\"site.yaml:7:24: template {{ hots.name }}: unknown name \\\"hots\\\"; did you mean \\\"host\\\"?\"\n"
	if diff := cmp.Diff(want, summary(report)); diff != "" {
		t.Error(diff)
	}
}
