package schedule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

func TestHandlers(t *testing.T) {
	tests := map[string]struct {
		site    string
		want    []string
		flights int
	}{
		"once for many notifiers, in order of definition": {`
- hosts: all
  tasks:
    - {name: a, do: {do: change}, notify: [two, one]}
    - {name: b, do: {do: change}, notify: two}
  handlers: [{name: one, do: {}}, {name: two, do: {}}]
`, []string{"a", "b", "one", "two"}, 1},
		"a handler notifies a handler that stands before it": {`
- hosts: all
  tasks: [{name: a, do: {do: change}, notify: second}]
  handlers: [{name: first, do: {}}, {name: second, do: {do: change}, notify: first}]
`, []string{"a", "second", "first"}, 1},
		"a flush in the middle, and again at the end": {`
- hosts: all
  tasks:
    - {name: a, do: {do: change}, notify: h}
    - meta: flush_handlers
    - {name: b, do: {do: ok}, notify: h}
    - {name: c, do: {do: change}, notify: h}
  handlers: [{name: h, do: {}}]
`, []string{"a", "h", "b", "c", "h"}, 1},
		"a second flush looks only at what came after the first": {`
- hosts: all
  tasks:
    - {name: a, do: {do: change}, notify: h}
    - meta: flush_handlers
    - {name: b, do: {do: ok}, notify: h}
    - meta: flush_handlers
    - {name: c, do: {}}
  handlers: [{name: h, do: {}}]
`, []string{"a", "h", "b", "c"}, 1},
		"after pre_tasks, after roles and tasks, after post_tasks": {`
- hosts: all
  post_tasks: [{name: back in use, do: {do: change}, notify: h}]
  tasks: [{name: configuration, do: {do: change}, notify: h}]
  pre_tasks: [{name: out of use, do: {do: change}, notify: h}]
  handlers: [{name: h, do: {}}]
`, []string{"out of use", "h", "configuration", "h", "back in use", "h"}, 1},
		"pre_tasks alone": {`
- hosts: all
  pre_tasks: [{name: a, do: {do: change}, notify: h}]
  handlers: [{name: h, do: {}}]
`, []string{"a", "h"}, 1},
		"the same, notified before the segment": {`
- hosts: all
  tasks:
    - {name: a, do: {do: change}, notify: h, register: a}
    - {name: b, do: {}, when: a.changed}
    - meta: flush_handlers
    - {name: c, do: {}}
  handlers: [{name: h, do: {}}]
`, []string{"a", "b", "h", "c"}, 2},
		"notified before the segment": {`
- hosts: all
  tasks:
    - {name: a, do: {do: change}, notify: h, register: a}
    - {name: b, do: {}, when: a.changed}
  handlers: [{name: h, do: {}}, {name: i, do: {}}]
`, []string{"a", "b", "h"}, 2},
		"a handler that is an action": {`
- hosts: all
  tasks:
    - {name: a, do: {do: change}, notify: [act, x]}
    - {name: b, do: {do: ok}, notify: [not]}
  handlers: [{name: act, act: {}, register: r}, {name: not, act: {err: "must not run"}}, {name: x, do: {text: "{{ r.changed }}"}}]
`, []string{"a", "b", "x true"}, 2},
		"a handler that looks at a pending result": {`
- hosts: all
  tasks:
    - {name: a, do: {do: change, say: {v: 1}}, notify: h, register: a}
    - {name: b, do: {do: ok, say: {v: 2}}, notify: i, register: b}
  handlers: [{name: i, do: {text: "{{ b.v }}"}}, {name: h, do: {text: "{{ a.v }}"}}]
`, []string{"a", "b", "h 1"}, 2},
		"a handler that cannot be rendered is no failure unless it is notified": {`
- hosts: all
  tasks: [{name: a, do: {do: ok}, notify: h}, {name: b, do: {}}]
  handlers: [{name: h, do: {text: "{{ nothing }}"}}]
`, []string{"a", "b"}, 1},
		"a condition and a loop": {`
- hosts: all
  tasks: [{name: a, do: {do: change}, notify: [h, i]}]
  handlers: [{name: h, do: {}, when: false}, {name: i, do: {text: "{{ item }}"}, loop: [1, 2]}]
`, []string{"a", "i 1", "i 2"}, 1},
		"loops notify too": {`
- hosts: all
  tasks: [{name: a, do: {do: "{{ item }}"}, loop: [ok, change, ok], notify: h}]
  handlers: [{name: h, do: {}}]
`, []string{"a", "a", "a", "h"}, 1},
		"handlers end with their play": {`
- hosts: all
  tasks: [{name: a, do: {do: change}, notify: h}]
  handlers: [{name: h, do: {}}]
- hosts: all
  tasks: [{name: b, do: {}}]
  handlers: [{name: h, do: {}}]
`, []string{"a", "h", "b"}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := of(1)
			report := s.run(t, t.Context(), tt.site)
			if diff := cmp.Diff(tt.want, s.fleet.of("h1")); diff != "" {
				t.Error(diff)
			}
			if got := s.fleet.flights["h1"]; got != tt.flights {
				t.Errorf("%d segments, want %d", got, tt.flights)
			}
			if len(report.Broken()) > 0 {
				t.Error(summary(report))
			}
		})
	}
}

// TestBigSegmentsAreSplit: handlers work across the parts of a split segment.
func TestBigSegmentsAreSplit(t *testing.T) {
	s := of(1)
	s.run(t, t.Context(), `
- hosts: all
  vars: {big: "{{ repeat('x', 100000) }}"}
  tasks:
    - {name: a, do: {do: change}, notify: h}
    - {name: "big {{ item }}", do: {extra: {x: "{{ big }}"}}, loop: "1..20"}
    - {name: many, do: {}, loop: "1..900"}
  handlers: [{name: h, do: {}}]
`)
	log := s.fleet.of("h1")
	if len(log) != 1+20+900+1 || log[len(log)-1] != "h" {
		t.Errorf("%d steps, the last is %q", len(log), log[len(log)-1])
	}
	if got := s.fleet.flights["h1"]; got < 5 || got > 9 {
		t.Errorf("%d segments; 20 steps of 100 kB in parts of 512 kB, 900 steps in parts of 400", got)
	}
}

func TestLoopRegister(t *testing.T) {
	s := of(1)
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: a, do: {do: "{{ item.do }}", say: {v: "{{ item.v }}"}}, loop: [{do: ok, v: 1}, {do: change, v: 2}], register: a, when: item.v != 3}
    - {name: b, do: {text: "{{ a.changed }} {{ join(map(a.results, string(.item.v) + '=' + string(.v) + ' '), '') }}"}}
    - {name: c, do: {}, loop: [1, 2, 3], when: item > 2, register: c}
    - {name: d, do: {text: "{{ len(c.results) }} {{ c.skipped }} {{ c.results[0].skipped }}"}}
    - {name: e, do: {}, loop: [], register: e}
    - {name: f, do: {text: "{{ e.skipped }}"}}
`)
	want := []string{"a", "a", "b true 1=1 2=2 ", "c", "d 3 false true", "f true"}
	if diff := cmp.Diff(want, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
}

// TestLoopControl: the item and its position have other names, which win over
// variables of the play, and the item has a label.
func TestLoopControl(t *testing.T) {
	s := of(1)
	s.run(t, t.Context(), `
- hosts: all
  vars: {user: nobody, i: 9}
  tasks:
    - {name: a, do: {text: "{{ user.name }} {{ i }}", do: change}, loop: [{name: ann}, {name: bob}, {name: eve}], register: r, when: user.name != "bob" && i < 9, changed_when: i == 0, loop_control: {loop_var: user, index_var: i, label: "{{ user.name }}"}}
    - {name: b, do: {text: "{{ r.results[2].user.name }} {{ r.results[0].changed }} {{ r.results[2].changed }} {{ user }} {{ i }}"}}
`)
	want := []string{"a (ann) ann 0", "a (eve) eve 2", "b eve true false nobody 9"}
	if diff := cmp.Diff(want, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
}

func TestRegisterOfAlternatives(t *testing.T) {
	s := of(2)
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: a, do: {say: {v: 1}}, register: r, when: host.name == "h1"}
    - {name: b, do: {text: "{{ r.skipped }}"}}
`)
	if diff := cmp.Diff([]string{"b true"}, s.fleet.of("h2")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b false"}, s.fleet.of("h1")); diff != "" {
		t.Error(diff)
	}
}

// TestErrorsOfSecretActionsAreWithheld: no text of a program or a server is shown for
// a secret task, because any part of it may be the secret.
func TestErrorsOfSecretActionsAreWithheld(t *testing.T) {
	s := of(1)
	var seen strings.Builder
	s.opts = func(o *Options) { o.Sink = sinkFunc(func(e engine.Event) { seen.WriteString(dump(e)) }) }
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: call the server, act: {err: "401 for the token abc-def-ghi\nsent abc-def-ghi"}, secret: true}
`)
	all := seen.String() + dump(engine.Event{Report: report})
	if strings.Contains(all, "abc-def-ghi") || !strings.Contains(all, "act failed; the task is secret, so the reason is withheld") {
		t.Error(all)
	}
}

// TestTextsOfSecretTasksAreWithheld: neither the command line, the progress and the
// panic of a secret action, nor the error of a condition, which quotes the output,
// reach the sink; the texts of other tasks do.
func TestTextsOfSecretTasksAreWithheld(t *testing.T) {
	const token = "abc-def-ghi"
	for name, task := range map[string]string{
		"command line": "act: {runs: tool --token " + token + "}",
		"panic":        "act: {dies: " + token + "}",
		"failed_when":  "do: {say: {stdout: " + token + "}}\n      failed_when: int(result.stdout) > 0",
		"changed_when": "do: {say: {stdout: " + token + "}}\n      changed_when: int(result.stdout) > 0",
		"until":        "do: {say: {stdout: " + token + "}}\n      until: int(result.stdout) > 0\n      retries: 1\n      delay: 1ms",
	} {
		for _, secret := range []bool{true, false} {
			s := of(1)
			var seen strings.Builder
			s.opts = func(o *Options) { o.Sink = sinkFunc(func(e engine.Event) { seen.WriteString(dump(e)) }) }
			report := s.run(t, t.Context(), fmt.Sprintf("- hosts: all\n  tasks:\n    - %s\n      secret: %t\n", task, secret))
			all := seen.String() + dump(engine.Event{Report: report})
			if strings.Contains(all, token) == secret {
				t.Errorf("%s, secret: %t: %s", name, secret, all)
			}
		}
	}
}

// TestSecretsAreRedacted: neither output nor diffs of secret steps, nor known secrets
// anywhere, reach the sink; tasks can read them.
func TestSecretsAreRedacted(t *testing.T) {
	s := of(1)
	const known = "hunter2-hunter2"
	var seen strings.Builder
	s.opts = func(o *Options) {
		o.Redactor = NewRedactor([]string{known})
		o.Sink = sinkFunc(func(e engine.Event) { seen.WriteString(dump(e)) })
	}
	report := s.run(t, t.Context(), `
- hosts: all
  vars: {password: `+known+`}
  tasks:
    - {name: "read {{ password }}", do: {say: {key: private-key-data}}, register: key, secret: true}
    - {name: use, do: {text: "{{ key.key }}", say: {echo: "it is {{ password }}", list: ["{{ password }}"]}}}
    - {name: act, act: {err: "bad password {{ password }}\nat {{ password }}"}}
`)
	if diff := cmp.Diff([]string{"use private-key-data"}, s.fleet.of("h1")[1:]); diff != "" {
		t.Error(diff)
	}
	all := seen.String() + dump(engine.Event{Report: report})
	for _, secret := range []string{known, "private-key-data"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q got out: %s", secret, all)
		}
	}
	if !strings.Contains(all, "it is "+Redacted) || !strings.Contains(all, "bad password "+Redacted) {
		t.Errorf("the texts around the secret are gone: %s", all)
	}
}
