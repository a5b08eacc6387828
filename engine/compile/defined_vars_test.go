package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
)

func TestDefinedVariables(t *testing.T) {
	for task, want := range map[string]struct {
		sets   []string
		values map[string]any
	}{
		"set: {port: 80, name: '{{ x }}'}":                 {[]string{"port", "name"}, map[string]any{"port": 80, "name": "y"}},
		"set: {values: {port: 80}}":                        {[]string{"port"}, map[string]any{"port": 80}},
		"{set: {values: {port: 80}}, register: r}":         {nil, map[string]any{"port": 80}},
		"{set: {a: 1, b: {c: [2]}}, register: r}":          {nil, map[string]any{"a": 1, "b": map[string]any{"c": []any{2}}}},
		"{set: {values: '{{ {\"a\": 1} }}'}, register: r}": {nil, map[string]any{"a": 1}},
		"set: {old: o, values: {b: 1}}":                    {[]string{"b"}, map[string]any{"b": 1}},
		"set: {old: o, b: 1}":                              {[]string{"b"}, map[string]any{"b": 1}},
	} {
		p := mustCompile(t, "site.yaml", "- hosts: all\n  vars: {x: y}\n  tasks:\n    - "+task+"\n")
		v := lang.NewVars(nil, nil)
		if err := v.PushScope(p.Tasks[0].Scopes, p.Tasks[0].Refs()); err != nil {
			t.Fatal(err)
		}
		got, err := p.Tasks[0].BuildArgs(v)
		if err != nil {
			t.Errorf("%s: %v", task, err)
			continue
		}
		if diff := cmp.Diff(want.values, got.(*setArgs).Values); diff != "" {
			t.Errorf("%s: %s", task, diff)
		}
		if diff := cmp.Diff(want.sets, p.Tasks[0].Sets); diff != "" {
			t.Errorf("%s: %s", task, diff)
		}
	}
}

func TestDefinedVariableErrors(t *testing.T) {
	for task, want := range map[string]string{
		"set: {item: 1}":                    `site.yaml:3:13: the variable "item" belongs to the engine; choose another name`,
		"set: {a-b: 1}":                     `site.yaml:3:13: "a-b" cannot be the name of a variable: use letters, digits and _`,
		"set: {'{{ x }}': 1}":               `site.yaml:3:13: "{{ x }}" cannot be the name of a variable`,
		"set: {values: '{{ {\"a\": 1} }}'}": `site.yaml:3:21: set: names must be written out`,
		"set: port=80":                      `site.yaml:3:12: arguments are written as YAML here: {port: 80}`,
	} {
		_, err := compileFiles(t, nil, "site.yaml", "- hosts: all\n  tasks:\n    - "+task+"\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", task, err, want)
		}
	}
}

// TestVarsDefine: a variable of a set task overrides all layers but parameters and fixed
// variables, and stays when the layers are left.
func TestVarsDefine(t *testing.T) {
	p := mustCompile(t, "site.yaml", "- hosts: all\n  vars: {a: play, b: play, c: play}\n  roles: [{role: r, vars: {b: param}}]\n",
		"roles/r/tasks/main.yaml", "- file: {path: '{{ a }}{{ b }}{{ c }}{{ d }}'}\n  vars: {a: task}\n", "roles/r/defaults/main.yaml", "d: default\n")
	v := lang.NewVars(nil, map[string]any{"c": "given"})
	for _, name := range []string{"a", "b", "c", "d"} {
		v.Define(name, "set")
	}
	mark := v.Depth()
	if err := v.PushScope(p.Tasks[0].Scopes, p.Tasks[0].Refs()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "set", "b": "param", "c": "given", "d": "set"} {
		if got, _ := v.Get(name); got != want {
			t.Errorf("%s is %v, want %s", name, got, want)
		}
	}
	v.PopTo(mark)
	if got, _ := v.Get("b"); got != "set" {
		t.Errorf("b is %v behind the role", got)
	}
}
