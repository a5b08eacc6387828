package compile

import (
	"strings"
	"testing"

	"deployer/engine/lang"
	"deployer/strictyaml"
)

// hostVars returns variables in the form in which an inventory gives them.
func hostVars(t *testing.T, raw map[string]any) map[string]any {
	t.Helper()
	c, out := lang.NewHostVarCompiler(), map[string]any{}
	line := 0
	for name, value := range raw {
		line++
		var err error
		if out[name], err = c.Compile(value, func() strictyaml.Pos { return strictyaml.Pos{File: "inv.yaml", Line: line, Col: 9} }); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestHostVarsAreEvaluatedByTasks: host variables are evaluated with the variables of the
// task that reads them, and may read each other in any order.
func TestHostVarsAreEvaluatedByTasks(t *testing.T) {
	raw := map[string]any{
		"base": 8000, "domain": "example.org",
		"port": "{{ base + 80 }}", "url": "http://{{ name }}.{{ domain }}:{{ port }}/",
		"list": []any{"a", map[string]any{"at": "{{ domain }}", "n": 1}},
		"of":   "{{ list }}", "where": "{{ facts.os }} in {{ area }}",
		"name": "inventory", "own": "{{ host.name }}",
	}
	for name, tt := range map[string]struct {
		vars, text, want string
	}{
		"another variable":      {"", "{{ url }}", "http://inventory.example.org:8080/"},
		"a type of its own":     {"", "{{ port + 1 }}", "8081"},
		"nested":                {"", "{{ list[1].at }} {{ list[1].n }}", "example.org 1"},
		"a whole list":          {"", "{{ len(of) }} {{ of[0] }}", "2 a"},
		"a variable of a play":  {"area: west", "{{ where }}", "debian in west"},
		"a play wins":           {"domain: example.net, url: none", "{{ url }} {{ list[1].at }}", "none example.net"},
		"the engine's own":      {"", "{{ own }}", "h1"},
		"not over command line": {"", "{{ given }}", "given"},
	} {
		t.Run(name, func(t *testing.T) {
			base := hostVars(t, raw)
			base["facts"], base["host"] = map[string]any{"os": "debian"}, map[string]any{"name": "h1"}
			base["given"] = hostVars(t, map[string]any{"given": "{{ nothing }}"})["given"]
			got, err := pathOf(t, base, map[string]any{"given": "given"},
				"site.yaml", "- hosts: all\n  vars: {"+tt.vars+"}\n  tasks: [{file: {path: '"+tt.text+"'}}]\n")
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// TestHostVarPrecedence: host variables win over defaults of a role, and variables of
// set win over host variables.
func TestHostVarPrecedence(t *testing.T) {
	base := hostVars(t, map[string]any{"v": "{{ w }}", "w": "inventory"})
	got, err := pathOf(t, base, nil,
		"site.yaml", "- hosts: all\n  roles: [r]\n",
		"roles/r/defaults/main.yaml", "v: default\n",
		"roles/r/tasks/main.yaml", "- file: {path: '{{ v }}'}\n")
	if err != nil || got != "inventory" {
		t.Errorf("got %q, %v", got, err)
	}
	v := lang.NewVars(base, nil)
	v.Define("v", "set")
	if err := v.PushScope(nil, lang.Everything()); err != nil {
		t.Fatal(err)
	}
	if got, _ := v.Get("v"); got != "set" {
		t.Errorf("after set it is %v", got)
	}
	if _, kept := base["v"].(*lang.Value); !kept {
		t.Errorf("the variable of the inventory became %v", base["v"])
	}
}

func TestHostVarErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		raw  map[string]any
		want string
	}{
		"unknown": {map[string]any{"v": "{{ nosuch }}"}, `variable "v": inv.yaml:1:9: template {{ nosuch }}: unknown name "nosuch"`},
		"itself":  {map[string]any{"v": "{{ v }}x"}, `inv.yaml:1:9`},
	} {
		_, err := pathOf(t, hostVars(t, tt.raw), nil, "site.yaml", "- hosts: all\n  tasks: [{file: {path: '{{ v }}'}}]\n")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	c := lang.NewHostVarCompiler()
	if _, err := c.Compile([]any{"{{ x"}, func() strictyaml.Pos { return strictyaml.Pos{File: "inv.yaml", Line: 3, Col: 4} }); err == nil || !strings.HasPrefix(err.Error(), "inv.yaml:3:4") {
		t.Errorf("a template that does not end: %v", err)
	}
}
