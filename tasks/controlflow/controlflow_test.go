package controlflow

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/exprarg"
	"deployer/strictyaml"
	"deployer/tasks/tasktest"
)

func TestSet(t *testing.T) {
	t.Parallel()
	change := tasktest.Check(t, tasktest.New(t), &Set{Values: map[string]any{"a": "b", "list": []any{"x"}}})
	if diff := cmp.Diff(engine.Output{"a": "b", "list": []any{"x"}}, change.Output); diff != "" || change.Needed {
		t.Error(diff, change.Needed)
	}
	root, err := strictyaml.Parse("site.yaml", []byte("values: {a: 1}\ncacheable: true\n"))
	if err != nil {
		t.Fatal(err)
	}
	err = strictyaml.Decode("site.yaml", root, &Set{})
	if err == nil || !strings.HasPrefix(err.Error(), "site.yaml:2:12: cacheable: values are of this run only") {
		t.Errorf("cacheable: %v", err)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	for _, f := range []Fail{{Msg: "no", Detail: "because"}, {}} {
		_, _, err := tasktest.Run(t, tasktest.New(t), &f)
		failure, ok := errors.AsType[*engine.Failure](err)
		if want := map[bool]string{true: "the playbook said fail", false: "no"}[f.Msg == ""]; !ok || failure.Message != want || failure.Detail != f.Detail || !failure.Deterministic {
			t.Errorf("failure %+v", failure)
		}
	}
}

// TestDebug: texts are shown unchanged, other values as YAML, and whole numbers without
// a fraction although they travel as JSON.
func TestDebug(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		debug  Debug
		output engine.Output
		shown  string
	}{
		"text":      {Debug{Msg: "hello\nyou"}, engine.Output{"msg": "hello\nyou"}, "hello\nyou"},
		"nothing":   {Debug{}, engine.Output{}, ""},
		"number":    {Debug{Msg: 50700000000.0}, engine.Output{"msg": int64(50700000000)}, "50700000000"},
		"fraction":  {Debug{Value: 1.5}, engine.Output{"value": 1.5}, "1.5"},
		"structure": {Debug{Msg: map[string]any{"b": []any{1.0, "x"}, "a": true}}, engine.Output{"msg": map[string]any{"b": []any{int64(1), "x"}, "a": true}}, "a: true\nb:\n    - 1\n    - x"},
		"variable":  {Debug{Var: &exprarg.Value{Expression: "facts.memory_bytes", Is: 8e9}}, engine.Output{"var": int64(8000000000)}, "facts.memory_bytes: 8000000000"},
		"both":      {Debug{Msg: "x", Value: true}, engine.Output{"msg": "x", "value": true}, "x\ntrue"},
	} {
		t.Run(name, func(t *testing.T) {
			change := tasktest.Check(t, tasktest.New(t), &c.debug)
			if diff := cmp.Diff(c.output, change.Output); diff != "" || change.Needed {
				t.Error(diff, change.Needed)
			}
			var shown []string
			for _, e := range change.Effects {
				if e.Kind != engine.EffectShow {
					t.Errorf("effect %+v", e)
				}
				shown = append(shown, e.Diff)
			}
			if got := strings.Join(shown, "\n"); got != c.shown {
				t.Errorf("shows %q, want %q", got, c.shown)
			}
		})
	}
}

func TestAssert(t *testing.T) {
	t.Parallel()
	good := exprarg.Verdict{Expression: "a == 1", Place: "site.yaml:4:5", Holds: true}
	bad := exprarg.Verdict{Expression: "b.rc == 0", Place: "site.yaml:5:5", Saw: []string{"b.rc: 1"}}
	for name, c := range map[string]struct {
		assert          Assert
		message, detail string
		shown           string
	}{
		"holds":          {Assert{That: exprarg.Conditions{good}}, "", "", ""},
		"says so":        {Assert{That: exprarg.Conditions{good}, SuccessMsg: "fine"}, "", "", "fine"},
		"quietly":        {Assert{That: exprarg.Conditions{good}, SuccessMsg: "fine", Quiet: true}, "", "", ""},
		"does not hold":  {Assert{That: exprarg.Conditions{good, bad}}, "b.rc == 0 does not hold (site.yaml:5:5)", "b.rc: 1", ""},
		"with a message": {Assert{That: exprarg.Conditions{bad}, FailMsg: "mend b"}, "mend b", "b.rc == 0 does not hold (site.yaml:5:5)\nb.rc: 1", ""},
		"in other words": {Assert{That: exprarg.Conditions{bad}, Msg: "mend b", Quiet: true}, "mend b", "b.rc == 0 does not hold (site.yaml:5:5)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := c.assert.Check(t.Context(), tasktest.New(t))
			failure, failed := errors.AsType[*engine.Failure](err)
			switch {
			case failed != (c.message != ""):
				t.Fatalf("error %v", err)
			case failed && (failure.Message != c.message || failure.Detail != c.detail || !failure.Deterministic):
				t.Errorf("failure %+v", failure)
			}
			shown := ""
			for _, e := range change.Effects {
				shown += e.Diff
			}
			if shown != c.shown {
				t.Errorf("shows %q, want %q", shown, c.shown)
			}
		})
	}
}
