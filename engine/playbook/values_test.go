package playbook

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	v := NewVars(vars(), nil)
	got, err := p.Tasks[0].BuildArgs(v)
	if err != nil {
		return nil, err
	}
	return got.(*fileArgs), nil
}

// TestArgumentTypes: a rendered text becomes what its field wants.
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

// TestRenderErrors: each names file, line and column, and what to do.
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

func TestExpressions(t *testing.T) {
	tests := map[string]struct {
		src  string
		want any
		err  string
	}{
		"compare":             {src: `host.name == "m1" && number > 3`, want: true},
		"index":               {src: `host.ports[1] + host.ports[-1]`, want: 4},
		"index by name":       {src: `hosts[host.name].master`, want: true},
		"filter":              {src: `map(filter(values(hosts), .master), .name)`, want: []any{"m1"}},
		"let":                 {src: `let x = number; x * 2`, want: 14},
		"functions":           {src: `max(1, len(list) / 10)`, want: 1},
		"default":             {src: `missing ?? "d"`, want: "d"},
		"default deep":        {src: `host.missing.deeper ?? "d"`, want: "d"},
		"optional":            {src: `host?.missing?.deeper ?? 1`, want: 1},
		"optional of nothing": {src: `missing?.x == nil`, want: true},
		"is it there":         {src: `"missing" in $env`, want: false},
		"in a mapping":        {src: `"k" in host.labels`, want: true},
		"short circuit":       {src: `"missing" in $env && missing.x`, want: false},
		"null is a value":     {src: `none == nil`, want: true},
		"conditional":         {src: `yes ? 0 : 1`, want: 0},
		"text functions":      {src: `host.name startsWith "m" and text matches "^t$"`, want: true},
		"unknown name":        {src: `nubmer > 3`, err: `f:1:1: expression "nubmer > 3": unknown name "nubmer"; did you mean "number"?`},
		"unknown key":         {src: `1 + host.prots[0]`, err: `f:1:10: expression "1 + host.prots[0]": unknown name "prots"; did you mean "ports"?`},
		"unknown key by name": {src: `hosts["x9"].name`, err: `f:1:6: expression "hosts[\"x9\"].name": unknown name "x9"`},
		"key of nothing":      {src: `none.x`, err: `f:1:6: expression "none.x": cannot look up x in nothing; use ?? or ?. where it may be missing`},
		"unknown function":    {src: `foo(1)`, err: `f:1:1: expression "foo(1)": unknown function "foo"`},
		"out of range":        {src: `list[7]`, err: `f:1:5: expression "list[7]": index out of range: 7 (array length is 2)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := compileExpr(tt.src, fileOrigin("f"))
			var got any
			if err == nil {
				got, err = e.Eval(NewVars(vars(), nil).Map())
			}
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("error is\n%v, want\n%s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefs(t *testing.T) {
	exprs := map[string][]string{
		`a.b == c["d"] and e`:             {"a", "c", "e"},
		`filter(list, .x == y and # > z)`: {"list", "y", "z"},
		`let q = a; q + b`:                {"a", "b"},
		`"n" in $env && n.x`:              {"n"},
		`max(a, len(b))`:                  {"a", "b"},
		`a ?? b`:                          {"a", "b"},
	}
	for src, want := range exprs {
		e, err := compileExpr(src, fileOrigin("f"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, e.refs.Names()); diff != "" || e.refs.All() {
			t.Errorf("%s: %s %v", src, diff, e.refs.All())
		}
	}
	templates := map[string]struct {
		want []string
		all  bool
	}{
		`{{ a.b }} {{ $.c }}`: {[]string{"a", "c"}, false},
		`{{ range .a }}{{ .x }}{{ $.b }}{{ else }}{{ .c }}{{ end }}`:                         {[]string{"a", "b", "c"}, false},
		`{{ with $x := .a }}{{ $x.y }}{{ .z }}{{ end }}{{ if .b }}{{ .c }}{{ end }}`:         {[]string{"a", "b", "c"}, false},
		`{{ index . "a" }} {{ get . "b" }} {{ hasKey . "c" }} {{ dig "d" "x" "" . }}`:        {[]string{"a", "b", "c", "d"}, false},
		`{{ index .a .b.c }} {{ (index .d 0).x }}`:                                           {[]string{"a", "b", "d"}, false},
		`{{ define "t" }}{{ .a }}{{ end }}{{ template "t" . }}`:                              {[]string{"a"}, false},
		`{{ define "t" }}{{ .x }}{{ end }}{{ template "t" .a }}`:                             {[]string{"a"}, false},
		`{{ a }}{{ range b.c }}{{ d.e }}{{ .f }}{{ end }}{{ if g }}{{ h | upper }}{{ end }}`: {[]string{"a", "b", "d", "g", "h"}, false},
		`{{ define "t" }}{{ a.b }}{{ .x }}{{ end }}{{ template "t" .y }}`:                    {[]string{"a", "y"}, false},
		`{{ toJson . }}`:                        {nil, true},
		`{{ range .a }}{{ toJson . }}{{ end }}`: {[]string{"a"}, false},
		`{{ index . .a }}`:                      {[]string{"a"}, true},
	}
	for src, tt := range templates {
		tpl, err := compileTemplate(src, fileOrigin("f"), Functions())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, tpl.refs.Names()); diff != "" || tpl.refs.All() != tt.all {
			t.Errorf("%s: %s all: %v", src, diff, tpl.refs.All())
		}
	}
}
