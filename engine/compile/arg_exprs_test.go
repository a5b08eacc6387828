package compile

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/exprarg"
	"deployer/engine/lang"
)

// claimed builds a single task, a claim, for a host with some variables.
func claimed(t *testing.T, task string) (*claimArgs, error) {
	t.Helper()
	p := mustCompile(t, "site.yaml", "- hosts: all\n  vars: {low: 3, twice: '{{ low * 2 }}'}\n  tasks:\n  - "+task+"\n")
	v := lang.NewVars(map[string]any{"name": "m1", "list": []any{1, 2}, "result": map[string]any{"rc": 1, "stdout": "it is\nso", "deep": map[string]any{"er": true}}}, nil)
	if err := v.PushScope(p.Tasks[0].Scopes, p.Tasks[0].Refs()); err != nil {
		t.Fatal(err)
	}
	args, err := p.Tasks[0].BuildArgs(v)
	if err != nil {
		return nil, err
	}
	return args.(*claimArgs), nil
}

func TestConditionsArgument(t *testing.T) {
	got, err := claimed(t, `claim: {that: ["low == 3", "result.rc == 0 and twice > low and len(list) > 0", "nothing.there"]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := exprarg.Conditions{
		{Expression: "low == 3", Place: "site.yaml:4:20", Holds: true},
		{Expression: "result.rc == 0 and twice > low and len(list) > 0", Place: "site.yaml:4:32",
			Saw: []string{"result.rc: 1", "twice: 6", "low: 3", "list: [1,2]"}},
	}
	if diff := cmp.Diff(want, got.That); diff != "" {
		t.Error(diff)
	}
	if got, err = claimed(t, `claim: low == 3`); err != nil || len(got.That) != 1 || !got.That[0].Holds {
		t.Errorf("one condition: %+v, %v", got, err)
	}
	for task, want := range map[string]string{
		`claim: low == highest`:       `site.yaml:4:19: expression "low == highest": unknown name "highest"`,
		`claim: {that: low}`:          `site.yaml:4:19: condition "low" gives the number 3, want true or false`,
		`claim: {of: result.missing}`: `site.yaml:4:24: expression "result.missing": unknown name "missing"`,
	} {
		if _, err := claimed(t, task); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", task, err, want)
		}
	}
}

func TestExpressionArgument(t *testing.T) {
	got, err := claimed(t, `claim: {that: true, of: result.deep}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&exprarg.Value{Expression: "result.deep", Is: map[string]any{"er": true}}, got.Of); diff != "" {
		t.Error(diff)
	}
}

// TestExpressionArgumentErrors: mistakes in expression arguments are found when the
// playbook is compiled, and the variables that the expressions read are known.
func TestExpressionArgumentErrors(t *testing.T) {
	for args, want := range map[string]string{
		`{that: "a ==="}`:        `site.yaml:3:24: expression "a ===": unexpected token Operator("=")`,
		`{that: [a, "b( c"]}`:    `site.yaml:3:27: expression "b( c": unexpected token EOF`,
		`{that: "{{ a }}"}`:      `site.yaml:3:19: want an expression without {{ }}; write a`,
		`{that: []}`:             `site.yaml:3:19: that: want an expression, or a list of them`,
		`{that: [{a: 1}]}`:       `site.yaml:3:19: that: want an expression, or a list of them`,
		`{that: [lenn(a) == 1]}`: `site.yaml:3:20: expression "lenn(a) == 1": unknown function "lenn"; did you mean "len"?`,
		`{of: [a]}`:              `site.yaml:3:17: of: want an expression`,
	} {
		_, err := compileFiles(t, nil, "site.yaml", "- hosts: all\n  tasks:\n  - claim: "+args+"\n")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	p := mustCompile(t, "site.yaml", "- hosts: all\n  tasks:\n  - claim: {that: [seen.rc == 0, twice.changed], of: other}\n")
	refs := p.Tasks[0].Refs()
	if got := refs.Names(); !slices.Equal(got, []string{"other", "seen", "twice"}) || refs.Beyond("twice") || !refs.Beyond("seen") {
		t.Errorf("refs %q, %t, %t", got, refs.Beyond("twice"), refs.Beyond("seen"))
	}
}

// TestExplain: Explain lists the existing values that an expression read.
func TestExplain(t *testing.T) {
	vars := map[string]any{"a": map[string]any{"b": 1, "c": "x\"y"}, "list": []any{1, 2}, "long": strings.Repeat("x", 600), "i": 0, "db": map[string]any{"password": "sesame"}}
	for src, want := range map[string][]string{
		"a.b == 2 and a.b != 3":         {"a.b: 1"},
		`a["c"] == "z"`:                 {`a.c: "x"y"`},
		`db.password == "x"`:            {"db.password: not shown, as it is called like a secret"},
		"(a?.zz ?? 1) == 2":             nil,
		"all(list, # > i)":              {"list: [1,2]", "i: 0"},
		"list[i] == 5":                  {"list: [1,2]", "i: 0"},
		"let n = a.b; n == 4":           {"a.b: 1"},
		"len(long) == 1":                {"long: 600 bytes, too many to show"},
		`"a" in $env and a.b > 5`:       {"a.b: 1"},
		`any(list, {# == a.b}) and a.b`: {"list: [1,2]", "a.b: 1"},
	} {
		e, err := lang.CompileExpr(src, lang.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, e.Explain(vars)); diff != "" {
			t.Errorf("%s: %s", src, diff)
		}
	}
}
