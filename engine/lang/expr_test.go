package lang

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func exprVars() map[string]any {
	return map[string]any{
		"text": "t", "number": 7, "big": 1000000, "yes": true, "none": nil, "version": "1.10",
		"list": []any{"a", "b"}, "empty": []any{},
		"host": map[string]any{"name": "m1", "ports": []any{1, 2}, "labels": map[string]any{"k": "v"}},
		"hosts": map[string]any{
			"m1": map[string]any{"name": "m1", "master": true}, "n1": map[string]any{"name": "n1", "master": false}},
		"json": map[string]any{"rules": []any{map[string]any{"port": 80, "name": "http"}}},
	}
}

func TestExpressions(t *testing.T) {
	tests := map[string]struct {
		src  string
		want any
		err  string
	}{
		"compare":                        {src: `host.name == "m1" && number > 3`, want: true},
		"index":                          {src: `host.ports[1] + host.ports[-1]`, want: 4},
		"index by name":                  {src: `hosts[host.name].master`, want: true},
		"filter":                         {src: `map(filter(values(hosts), .master), .name)`, want: []any{"m1"}},
		"let":                            {src: `let x = number; x * 2`, want: 14},
		"functions":                      {src: `max(1, len(list) / 10)`, want: 1},
		"default":                        {src: `missing ?? "d"`, want: "d"},
		"default deep":                   {src: `host.missing.deeper ?? "d"`, want: "d"},
		"optional":                       {src: `host?.missing?.deeper ?? 1`, want: 1},
		"optional key of a missing name": {src: `missing?.x == nil`, want: true},
		"in $env":                        {src: `"missing" in $env`, want: false},
		"defined":                        {src: `missing is defined`, want: false},
		"not defined":                    {src: `missing is not defined and number is defined`, want: true},
		"undefined":                      {src: `missing is undefined`, want: true},
		"defined field":                  {src: `host.name is defined and host.missing is not defined`, want: true},
		"defined deep":                   {src: `host.missing.deeper is defined`, want: false},
		"defined element":                {src: `list[1] is defined and list[7] is not defined`, want: true},
		"null is defined":                {src: `none is defined and none is none`, want: true},
		"defined first":                  {src: `missing is defined and missing.x`, want: false},
		"choice":                         {src: `missing.x if missing is defined else host.name`, want: "m1"},
		"choice of a number":             {src: `1 if number else 2`, err: `f:1:1: expression "1 if number else 2": a condition is neither true nor false`},
		"value of a choice":              {src: `nubmer if yes else 2`, err: `f:1:1: expression "nubmer if yes else 2": unknown name "nubmer"; did you mean "number"?`},
		"in a mapping":                   {src: `"k" in host.labels`, want: true},
		"in a text":                      {src: `"m" in host.name`, want: true},
		"not in a text":                  {src: `"x" not in host.name`, want: true},
		"in a written text":              {src: `"b" in "abc"`, want: true},
		"a text in a choice":             {src: `("b" in "abc") ? "a" in ["a"] : false`, want: true},
		"in a range":                     {src: `2 in 1..3`, want: true},
		"short circuit":                  {src: `"missing" in $env && missing.x`, want: false},
		"null is a value":                {src: `none == nil`, want: true},
		"conditional":                    {src: `yes ? 0 : 1`, want: 0},
		"text functions":                 {src: `host.name startsWith "m" and text matches "^t$"`, want: true},
		"unknown name":                   {src: `nubmer > 3`, err: `f:1:1: expression "nubmer > 3": unknown name "nubmer"; did you mean "number"?`},
		"unknown key":                    {src: `1 + host.prots[0]`, err: `f:1:10: expression "1 + host.prots[0]": unknown name "prots"; did you mean "ports"?`},
		"unknown key by name":            {src: `hosts["x9"].name`, err: `f:1:6: expression "hosts[\"x9\"].name": unknown name "x9"`},
		"key of null":                    {src: `none.x`, err: `f:1:6: expression "none.x": cannot look up x in null; use ?? or ?. where it may be missing`},
		"unknown function":               {src: `foo(1)`, err: `f:1:1: expression "foo(1)": unknown function "foo"`},
		"out of range":                   {src: `list[7]`, err: `f:1:5: expression "list[7]": index out of range: 7 (array length is 2)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := CompileExpr(tt.src, fileOrigin("f"))
			var got any
			if err == nil {
				got, err = e.Eval(NewVars(exprVars(), nil).Map())
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
		e, err := CompileExpr(src, fileOrigin("f"))
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
