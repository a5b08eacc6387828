package playbook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// omit leaves an argument out, of any type, and items of lists.
func TestOmit(t *testing.T) {
	const site = `
- hosts: all
  tasks:
    - file:
        path: /a
        mode: '{{ item.mode | default(omit) }}'
        count: '{{ item.count | default(omit) }}'
        lines: [one, '{{ item.line ?? omit }}']
        value: '{{ omit }}'
`
	for name, tt := range map[string]struct {
		item map[string]any
		want string
	}{
		"nothing given": {map[string]any{}, "path: /a\nlines: [one]\n"},
		"all given":     {map[string]any{"mode": "0600", "count": 3, "line": "two"}, "path: /a\nmode: \"0600\"\ncount: 3\nlines: [one, \"two\"]\n"},
	} {
		task := mustCompile(t, "site.yaml", site).Tasks[0]
		node, err := task.Args.Render(NewVars(map[string]any{"item": tt.item}, nil).Map())
		if err != nil {
			t.Fatal(err)
		}
		out, err := yaml.Marshal(node)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, strings.ReplaceAll(string(out), "'", `"`)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	task := mustCompile(t, "site.yaml", "- hosts: all\n  tasks: [{file: {path: 'a{{ omit }}'}}]\n").Tasks[0]
	if _, err := task.Args.Render(NewVars(nil, nil).Map()); err == nil || !strings.Contains(err.Error(), "site.yaml:2:25: template a{{ omit }}: omit leaves a whole argument out") {
		t.Error(err)
	}
}
