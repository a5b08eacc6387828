package compile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
)

func vars() map[string]any {
	return map[string]any{
		"text": "t", "number": 7, "big": 1000000, "yes": true, "none": nil, "version": "1.10",
		"list": []any{"a", "b"}, "empty": []any{},
		"host": map[string]any{"name": "m1", "ports": []any{1, 2}, "labels": map[string]any{"k": "v"}},
		"hosts": map[string]any{
			"m1": map[string]any{"name": "m1", "master": true}, "n1": map[string]any{"name": "n1", "master": false}},
		"json": map[string]any{"rules": []any{map[string]any{"port": 80, "name": "http"}}},
	}
}

func buildOne(t *testing.T, args string) (*fileArgs, error) {
	t.Helper()
	p := mustCompile(t, "site.yaml", "- hosts: all\n  tasks:\n    - file: "+args+"\n")
	v := lang.NewVars(vars(), nil)
	got, err := p.Tasks[0].BuildArgs(v)
	if err != nil {
		return nil, err
	}
	return got.(*fileArgs), nil
}

// TestArgumentTypes: a rendered text is converted to the type of its field.
func TestArgumentTypes(t *testing.T) {
	no := false
	tests := map[string]struct {
		args string
		want fileArgs
	}{
		"plain":              {`{path: /a, count: 3, wait: 10s}`, fileArgs{Path: "/a", Mode: "0644", Count: 3, Wait: 10 * time.Second}},
		"text":               {`{path: "/{{ text }}/{{ number }}"}`, fileArgs{Path: "/t/7", Mode: "0644"}},
		"big number as text": {`{path: "{{ big }}"}`, fileArgs{Path: "1000000", Mode: "0644"}},
		"version stays text": {`{path: "{{ version }}", value: "{{ version }}", labels: {v: "{{ version }}"}}`,
			fileArgs{Path: "1.10", Mode: "0644", Value: "1.10", Labels: map[string]string{"v": "1.10"}}},
		"number":             {`{path: a, count: "{{ number }}"}`, fileArgs{Path: "a", Mode: "0644", Count: 7}},
		"number by function": {`{path: a, count: "{{ number + 1 }}"}`, fileArgs{Path: "a", Mode: "0644", Count: 8}},
		"switch":             {`{path: a, force: "{{ not yes }}"}`, fileArgs{Path: "a", Mode: "0644", Force: &no}},
		"duration":           {`{path: a, wait: "{{ number }}m"}`, fileArgs{Path: "a", Mode: "0644", Wait: 7 * time.Minute}},
		"list":               {`{path: a, lines: "{{ list }}"}`, fileArgs{Path: "a", Mode: "0644", Lines: []string{"a", "b"}}},
		"list by toJson":     {`{path: a, lines: "{{ to_json(list) }}"}`, fileArgs{Path: "a", Mode: "0644", Lines: []string{"a", "b"}}},
		"list as YAML text":  {`{path: a, lines: "[x, {{ text }}]"}`, fileArgs{Path: "a", Mode: "0644", Lines: []string{"x", "t"}}},
		"items of a list":    {`{path: a, lines: ["{{ text }}", "{{ number }}"]}`, fileArgs{Path: "a", Mode: "0644", Lines: []string{"t", "7"}}},
		"structs":            {`{path: a, rules: "{{ json.rules }}"}`, fileArgs{Path: "a", Mode: "0644", Rules: []rule{{80, "http"}}}},
		"in structs":         {`{path: a, rules: [{port: "{{ number }}", name: "{{ number }}"}]}`, fileArgs{Path: "a", Mode: "0644", Rules: []rule{{7, "7"}}}},
		"any: native":        {`{path: a, value: "{{ host.ports }}"}`, fileArgs{Path: "a", Mode: "0644", Value: []any{1, 2}}},
		"any: from_json":     {`{path: a, value: "{{ host.labels | to_json | from_json }}"}`, fileArgs{Path: "a", Mode: "0644", Value: map[string]any{"k": "v"}}},
		"any: nested": {`{path: a, settings: {x: {y: "{{ number }}", z: "{{ text }}-{{ number }}", w: "{{ text | to_json }}"}}}`,
			fileArgs{Path: "a", Mode: "0644", Settings: map[string]any{"x": map[string]any{"y": 7, "z": "t-7", "w": `"t"`}}}},
		"keeps defaults": {`{path: a, mode: null}`, fileArgs{Path: "a", Mode: "0644"}},
		"block text":     {"\n        path: |\n          x {{ text }}\n          y", fileArgs{Path: "x t\ny\n", Mode: "0644"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := buildOne(t, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRenderErrors: each error names file, line and column, and what to do.
func TestRenderErrors(t *testing.T) {
	tests := map[string]struct{ args, want string }{
		"unknown name":        {`{path: "a {{ txet }}"}`, `site.yaml:3:26: template {{ txet }}: unknown name "txet"; did you mean "text"?`},
		"unknown key":         {`{path: "{{ host.nmae }}"}`, `site.yaml:3:29: template {{ host.nmae }}: unknown name "nmae"; did you mean "name"?`},
		"unknown, native":     {`{path: a, value: "{{ txet }}"}`, `site.yaml:3:34: template {{ txet }}: unknown name "txet"; did you mean "text"?`},
		"unknown, in a pipe":  {`{path: a, count: "{{ nubmer + 1 }}"}`, `site.yaml:3:34: template {{ nubmer + 1 }}: unknown name "nubmer"; did you mean "number"?`},
		"second line of text": {"\n        path: |\n          one\n          two {{ txet }}", `site.yaml:6:18: template {{ txet }}: unknown name "txet"; did you mean "text"?`},
		"null":                {`{path: "x{{ none }}"}`, `site.yaml:3:25: template {{ none }}: the value is null; give it a default: NAME ?? DEFAULT`},
		"list as text":        {`{path: "{{ list }}"}`, `site.yaml:3:20: template {{ list }} gives a list where a text is wanted; use join, to_json or to_nice_yaml`},
		"wrong type":          {`{path: a, count: "{{ text }}"}`, `site.yaml:3:30: count: want a whole number, got "t"`},
		"not YAML":            {`{path: a, lines: "[{{ text }}"}`, `site.yaml:3:30: template [{{ text }} gives "[t", which is not YAML`},
		"fail":                {`{path: "{{ fail(\"no good\") }}"}`, `site.yaml:3:20: template {{ fail("no good") }}: fail: no good`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := buildOne(t, tt.args)
			if err == nil {
				t.Fatal("rendered")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
