package lang

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// textValue computes the value of a text for an argument of any type.
func textValue(t *testing.T, src string, vars map[string]any) (any, error) {
	t.Helper()
	text, err := CompileInterpolation(src, Origin{})
	if err != nil {
		return nil, err
	}
	return text.Value(NewVars(vars, nil).values)
}

// TestInterpolation: {{ }} holds an expression of the condition language. A text that is one
// {{ }} keeps the type of its value; beside other text the value is printed.
func TestInterpolation(t *testing.T) {
	vars := map[string]any{
		"http_port": 80, "big": 1e6, "f": 1.5, "list": []any{"a", 1}, "m": map[string]any{"k": "v"}, "yes": true, "item": "h1", "null": nil, "users": []any{map[string]any{"name": "eve"}, map[string]any{"name": "bob"}},
		"hosts": map[string]any{"h1": map[string]any{"address": "10.0.0.1"}}, "default": "a variable called so",
	}
	for src, want := range map[string]any{
		"{{ http_port }}":               80,
		"{{http_port}}":                 80,
		"x{{ http_port }}":              "x80",
		"{{ list }}":                    []any{"a", 1},
		"{{ m }} ":                      `{"k":"v"} `,
		"{{ list }}{{ big }}":           `["a",1]1000000`,
		"{{ big * 1000 }}!":             "1000000000!",
		"{{ 8 / 2 }}":                   4,
		"{{ f }} {{ 4 / 2 }} {{ yes }}": "1.5 2 true",
		"{{ hosts[item].address }}:{{ port ?? 8080 }}":         "10.0.0.1:8080",
		"{{ hosts[item].address }}:{{ port | default(8080) }}": "10.0.0.1:8080",
		"{{ nope.deeper | default('x') | upper }}":             "X",
		"{{ null | default('x') }}":                            "x",
		"{{ list | default(nope) }}":                           []any{"a", 1},
		"{{ '' | default('x', true) }}":                        "x",
		"{{ nope | default(omit) }}":                           OmitMark,
		"{{ {'a': {'b': 1}} }}":                                map[string]any{"a": map[string]any{"b": 1}},
		"{{ {'a': {'b': 1}}}}":                                 map[string]any{"a": map[string]any{"b": 1}},
		"{{ '}}' }}{{ '{{' }}":                                 "}}{{",
		"{% raw %}{{ x }}{% endraw %}":                         "{{ x }}",
		"{{ yes and http_port == 80 or not yes }}":             true,
		"{{ yes && http_port == 80 || !yes }}":                 true,
		"{{ yes\n  ? 'a'\n  : 'b' }}":                          "a",
		"a {{- http_port -}} b":                                "a80b",
		"{{ default }}":                                        "a variable called so",
		"{{ default | default('x') }}":                         "a variable called so",
		"{{ 'a1' | regex_replace('\\d', '-') }}":               "a-",
		"{{ map(users, #.name) | join(', ') }}":                "eve, bob",
		"{{ users | map(attribute='name') | list }}":           []any{"eve", "bob"},
		"{{ 'a,b' | split(',') }}{{ m | items }}":              `["a","b"][["k","v"]]`,
		"{{ 'nope' in $env }}":                                 false,
		"{{ 1..3 }}":                                           []any{1, 2, 3},
		"{{ m | to_json }}":                                    `{"k":"v"}`,
		"{{ versionCompare('1.10', '1.9') }}":                  1,
		"{{ sha256sum('x') | length }}":                        64,
		"{{ 'a.conf' | trimSuffix('.conf') }}":                 "a",
	} {
		got, err := textValue(t, src, vars)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", src, err, diff)
		}
	}
	for src, want := range map[string]string{
		"{{ .http_port }}":                  "write {{ http_port }}",
		"{{ $.http_port }}":                 "valid in template files only",
		"{{ if yes }}a{{ end }}":            "if is valid in template files only",
		"{{ range .list }}{{ . }}{{ end }}": "range is valid in template files only",
		"{% if yes %}a{% endif %}":          "statements stand in template files only",
		"{{ http_port // 2 }}":              "int(A / B)",
		"a{{ null }}":                       "the value is null",
		"{{ http_prot }}":                   `did you mean "http_port"?`,
		"{{ m.kk }}":                        `unknown name "kk"`,
		"{{ uper(item) }}":                  `unknown function "uper"; did you mean "upper"?`,
		"{{ item | uper }}":                 `unknown function "uper"; did you mean "upper"?`,
		"{{ x is definde }}":                `there is no test "definde"`,
		"{{ x is file }}":                   "a task stat",
		"{{ 1 if x else 2 }}":               `unknown name "x"`,
		"{{ a }":                            "{{ has no }}",
		"{{ lookup('url', 'x') }}":          `there is no lookup "url"`,
	} {
		if _, err := textValue(t, src, vars); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
}

// TestExpressionsHaveLimits: the memory and the time of an expression have limits
// that protect the controller.
func TestExpressionsHaveLimits(t *testing.T) {
	for src, want := range map[string]string{
		"{{ map(1..100000, map(1..100000, #)) }}":                                     "memory budget",
		"{{ until(100000000) }}":                                                      "until: want at most 1000000",
		"{{ 'x' | indent(100000000) }}":                                               "from 0 to 1000",
		"{{ " + strings.Repeat("(", 70000) + "1" + strings.Repeat(")", 70000) + " }}": "longer than 64 KiB",
		"{{ " + strings.Repeat("1+", 20000) + "1 }}":                                  "maximum allowed nodes",
	} {
		if _, err := textValue(t, src, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", src, err, want)
		}
	}
}

// TestTemplateVariablesWithoutADot: a template file can name a variable without a
// dot, inside of loops and parts too; a variable with the name of a function needs
// the dot.
func TestTemplateVariablesWithoutADot(t *testing.T) {
	vars := map[string]any{"http_port": 80, "host": map[string]any{"name": "h1"}, "debug": true, "items": []any{"a", "b"}, "list": "a variable"}
	for src, want := range map[string]string{
		"{{ http_port }} {{ .http_port }} {{ $.http_port }}":                                     "80 80 80",
		"{{ host.name }}{{ if debug }}!{{ end }}":                                                "h1!",
		"{{ range items }}{{ . }}{{ host.name }} {{ end }}":                                      "ah1 bh1 ",
		"{{ with host }}{{ .name }}{{ http_port }}{{ end }}":                                     "h180",
		"{{ range $i, $x := items }}{{ $i }}{{ $x | upper }}{{ end }}":                           "0A1B",
		"{{ .list }} {{ list 1 2 | len }}":                                                       "a variable 2",
		`{{ define "p" }}{{ . }}:{{ http_port }}/{{ host.name }}{{ end }}{{ template "p" "x" }}`: "x:80/h1",
		`{{ printf "%d" http_port }}{{ eq host.name "h1" }}{{ not debug }}`:                      "80truefalse",
		"{{ (index items 0) | upper }}{{ len items }}":                                           "A2",
	} {
		tpl, err := compileTemplate(src, fileOrigin("f"), Functions())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tpl.Text(vars); err != nil || got != want {
			t.Errorf("%s: %q, %v", src, got, err)
		}
	}
	for src, want := range map[string]string{
		"a\n {{ htp_port }}":     `f:2:5: template {{ htp_port }}: unknown name "htp_port"; did you mean "http_port"?`,
		"{{ host.nmae }}":        `unknown name "nmae"; did you mean "name"?`,
		"{{ uper .x }}":          `function "uper" not defined; did you mean "upper"?`,
		"{{ http_port | nope }}": `function "nope" not defined`,
		`{{ define "p" }}{{ gone }}{{ end }}{{ template "p" "x" }}`: `unknown name "gone"`,
	} {
		tpl, err := compileTemplate(src, fileOrigin("f"), Functions())
		if err == nil {
			_, err = tpl.Text(vars)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
}
