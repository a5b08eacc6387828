package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
)

// TestOmit: omit leaves out arguments of any type and items of lists.
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
		want map[string]any
	}{
		"nothing given": {map[string]any{}, map[string]any{"path": "/a", "lines": []any{"one"}}},
		"all given":     {map[string]any{"mode": "0600", "count": 3, "line": "two"}, map[string]any{"path": "/a", "mode": "0600", "count": 3, "lines": []any{"one", "two"}}},
	} {
		task := mustCompile(t, "site.yaml", site).Tasks[0]
		var got map[string]any
		if err := task.Args.Decode(lang.NewVars(map[string]any{"item": tt.item}, nil).Map(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	task := mustCompile(t, "site.yaml", "- hosts: all\n  tasks: [{file: {path: 'a{{ omit }}'}}]\n").Tasks[0]
	if err := task.Args.Decode(lang.NewVars(nil, nil).Map(), &fileArgs{}); err == nil || !strings.Contains(err.Error(), "site.yaml:2:25: template a{{ omit }}: omit must be the whole argument") {
		t.Error(err)
	}
}
