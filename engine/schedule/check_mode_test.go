package schedule

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// foreseen runs a check and returns how each step of one host ended: its status, or
// the reason why the status is unknown.
func foreseen(t *testing.T, s *scenario, site string) map[string]string {
	t.Helper()
	s.opts = func(o *Options) { o.CheckOnly = true }
	report := s.run(t, t.Context(), site)
	out := map[string]string{}
	for _, e := range s.fleet.events {
		if e.Type != engine.EventStepEnd || e.Host != "h1" {
			continue
		}
		out[e.Name] = string(e.Result.Status)
		if e.Result.Unknown != "" {
			out[e.Name] = "unknown: " + e.Result.Unknown
		}
		if e.Result.MaxParallel > 0 {
			out[e.Name] += fmt.Sprintf(", %d at once", e.Result.MaxParallel)
		}
	}
	for _, h := range report.Broken() {
		out["host "+h.Host] = h.Failure.Message
	}
	return out
}

// TestCheckUnknownResults: a task that reads the result of a skipped step is unknown, and so
// is a task that reads its result; whether the step would change something is known.
func TestCheckUnknownResults(t *testing.T) {
	const because = "unknown: the task reads made, the result of \"make\", which has not run"
	s := of(2)
	s.files = []string{"templates/made.tmpl", "{{ made.stdout }}", "templates/plain.tmpl", "x"}
	s.fleet.action = func(context.Context, string, map[string]any, engine.ActionContext) (engine.Output, error) {
		return nil, nil
	}
	got := foreseen(t, s, `
- hosts: all
  tasks:
    - {name: look, do: {say: {port: 1}}, register: seen}
    - {name: uses look, do: {text: "{{ seen.port }}"}}
    - {name: make, do: {do: change}, register: made}
    - {name: if changed, do: {}, when: made.changed and not made.failed}
    - {name: if changed in a template, do: {text: "{{ made.changed }}"}}
    - {name: if stdout, do: {do: change}, when: made.stdout == "x", register: chain}
    - {name: if chain, do: {}, when: chain.changed}
    - {name: in a template, do: {text: "{{ made.stdout }}"}}
    - {name: in a variable, do: {text: "{{ v }}"}, vars: {v: "{{ made.stdout }}"}}
    - {name: in a file, tmpl: {src: made.tmpl}}
    - {name: in no file, tmpl: {src: plain.tmpl}}
    - {name: in a loop, do: {}, loop: made.lines}
    - {name: with a default, do: {}, when: '(made.stdout ?? "") == "x"'}
    - name: block
      when: made.stdout == "x"
      block:
        - {name: in a block, do: {}}
    - {name: act, act: {name: a}, register: acted}
    - {name: after act, do: {}, when: acted.sum == 1}
    - {name: once, do: {do: change}, run_once: true, register: shared}
    - {name: after once, do: {}, when: shared.stdout == 1}
    - {name: again, do: {say: {stdout: x}}, register: made}
    - {name: known again, do: {}, when: made.stdout == "x"}
`)
	want := map[string]string{
		"look": "ok", "uses look": "ok", "make": "changed", "if changed": "ok", "if changed in a template": "ok",
		"if stdout": because, "if chain": "unknown: the task reads chain, the result of \"if stdout\", which has not run",
		"in a template": because, "in a variable": because, "in a file": because, "in no file": "ok", "in a loop": because,
		"with a default": because, "in a block": because, "act": "changed",
		"after act":  "unknown: the task reads acted, the result of \"act\", which has not run",
		"after once": "unknown: the task reads shared, the result of \"once\", which has not run",
		"again":      "ok", "known again": "ok",
	}
	if _, elected := got["once"]; elected {
		want["once"] = "changed"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCheckFailures: the failure of a check counts when no earlier step would change
// the host, and is unknown otherwise. An error in the playbook always counts.
func TestCheckFailures(t *testing.T) {
	got := foreseen(t, of(1), `
- hosts: all
  tasks:
    - {name: a, do: {do: fail}}
    - {name: b, do: {do: change}}
`)
	if diff := cmp.Diff(map[string]string{"a": "failed", "host h1": "failure requested by the test"}, got); diff != "" {
		t.Error(diff)
	}
	got = foreseen(t, of(1), `
- hosts: all
  tasks:
    - {name: a, do: {do: change}}
    - {name: b, do: {do: fail}, register: b}
    - {name: c, do: {}, when: b.changed}
    - {name: d, do: {}}
    - {name: e, do: {text: "{{ misspelt }}"}}
`)
	sure := foreseen(t, of(1), `
- hosts: all
  tasks:
    - {name: a, do: {do: change}}
    - {name: b, do: {do: surely fail}}
`)
	if diff := cmp.Diff(map[string]string{"a": "changed", "b": "failed", "host h1": "failure requested by the test"}, sure); diff != "" {
		t.Error(diff)
	}
	// The state after a change may differ from that of a real run.
	const doubt = "unknown: its check fails in the present state, which the earlier step \"change\" may change: failure requested by the test"
	later := foreseen(t, of(1), `
- hosts: all
  tasks:
    - {name: early, do: {say: {n: 1}}, register: early}
    - {name: change, do: {do: change}}
    - {name: late, do: {say: {n: 1}}, register: late}
    - {name: by its condition, do: {do: surely fail}, when: late.n == 1}
    - {name: by its arguments, do: {do: surely fail, text: "{{ late.n }}"}}
    - {when: late.n == 1, block: [{name: by its block, do: {do: surely fail}}]}
    - {name: sure, do: {do: surely fail}, when: early.n == 1}
`)
	wantLater := map[string]string{"early": "ok", "change": "changed", "late": "ok", "by its condition": doubt,
		"by its arguments": doubt, "by its block": doubt, "sure": "failed", "host h1": "failure requested by the test"}
	if diff := cmp.Diff(wantLater, later); diff != "" {
		t.Error(diff)
	}
	message := got["host h1"]
	delete(got, "host h1")
	want := map[string]string{"a": "changed", "d": "ok", "e": "failed",
		"b": "unknown: its check fails in the present state, which the earlier step \"a\" may change: failure requested by the test",
		"c": "unknown: the task reads b, the result of \"b\", which has not run"}
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(message, "misspelt") {
		t.Errorf("%s, %s", message, diff)
	}
}

func TestCheckConditions(t *testing.T) {
	got := foreseen(t, of(2), `
- hosts: all
  serial: 1
  tasks:
    - {name: never counts, do: {do: change}, changed_when: false}
    - {name: by its output, do: {do: change}, changed_when: result.stdout == "x"}
    - {name: real runs only, do: {}, when: not run.check}
    - {name: all alone, do: {do: change}}
- hosts: all
  tasks:
    - name: turns
      throttle: 5
      block:
        - {name: in turn, do: {do: change}}
        - {name: fewer, do: {do: change}, throttle: 2}
    - {name: all, do: {do: change}}
`)
	want := map[string]string{
		"never counts": "ok, 1 at once", "by its output": "changed, 1 at once", "all alone": "changed, 1 at once",
		"real runs only": "unknown: its condition reads the variable run, which is different in a real run, 1 at once",
		"in turn":        "changed, 5 at once", "fewer": "changed, 2 at once", "all": "changed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExpect: steps for agents contain what the plan permits, and actions comply with
// the plan.
func TestExpect(t *testing.T) {
	s := of(1)
	s.fleet.action = func(context.Context, string, map[string]any, engine.ActionContext) (engine.Output, error) {
		return nil, nil
	}
	var got []string
	s.fleet.onStep = func(_ string, st engine.Step, _ doArgs) string {
		got = append(got, fmt.Sprintf("%s %v", st.ID, st.Expect.Effects))
		return ""
	}
	s.opts = func(o *Options) {
		o.Expect = func(host, step string) *engine.Expect {
			return &engine.Expect{Effects: []string{host + "/" + step}}
		}
	}
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: a, do: {}}
    - {name: b, do: {}, loop: [1, 2]}
    - {name: act, act: {name: a}}
`)
	want := []string{"1.play.1 [h1/1.play.1]", "1.play.2#1 [h1/1.play.2#1]", "1.play.2#2 [h1/1.play.2#2]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if broken := report.Broken(); len(broken) != 1 || !strings.Contains(broken[0].Failure.Message, "differs from the plan") {
		t.Errorf("the action did what was not planned: %s", summary(report))
	}
}

// TestReadsResultFields: Beyond reports whether a condition reads more of a result than its
// status.
func TestReadsResultFields(t *testing.T) {
	for source, want := range map[string]bool{
		"x.changed": false, "x.failed or x.skipped": false, `x["changed"]`: false, "x.stdout == 1": true,
		"x.changed and x.stdout == 1": true, "x": true, "x.results[0].changed": true, "y.stdout": false,
	} {
		s := of(1)
		prog := s.compile(t, fmt.Sprintf("- hosts: all\n  tasks:\n    - {name: a, do: {}, when: '%s'}\n", source))
		if got := prog.Tasks[0].WhenRefs().Beyond("x"); got != want {
			t.Errorf("%s: %v", source, got)
		}
		prog = s.compile(t, fmt.Sprintf("- hosts: all\n  tasks:\n    - {name: a, do: {text: '{{ %s }}'}}\n", "x.changed"))
		if refs := prog.Tasks[0].Refs(); refs.Beyond("x") || !refs.Has("x") {
			t.Errorf("templates: %v", refs)
		}
	}
}
