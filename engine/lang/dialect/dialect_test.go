package dialect

import (
	"strings"
	"testing"
	"testing/quick"

	"github.com/expr-lang/expr"
	"github.com/google/go-cmp/cmp"
)

// testLanguage has two functions of templates.
var testLanguage = New(map[string]any{
	"trunc": func(n int, s string) string { return s[:min(n, len(s))] },
	"quote": func(s string) string { return `"` + s + `"` },
	"list":  func(v ...any) []any { return v },
	"fail":  func(string) (string, error) { return "", errFail },
})

type failure string

func (f failure) Error() string { return string(f) }

const errFail = failure("on purpose")

// evaluate computes an expression as the compiler of playbooks does, except for
// names.
func evaluate(t *testing.T, src string, env map[string]any) (any, error) {
	t.Helper()
	s, err := testLanguage.Rewrite(src)
	if err != nil {
		t.Fatal(err)
	}
	var options []expr.Option
	for name, f := range testLanguage.calls {
		options = append(options, expr.Function(name, f))
	}
	p, err := expr.Compile(s.Text, options...)
	if err != nil {
		return nil, err
	}
	v, err := expr.Run(p, env)
	return plain(v), err
}

// TestFilters: filters of Ansible have the same results as in Ansible.
func TestFilters(t *testing.T) {
	env := map[string]any{
		"name": "web", "empty": "", "n": 5, "list": []any{"b", "a", "b"}, "nested": []any{1, []any{2, []any{3}}},
		"users": []any{map[string]any{"name": "eve", "admin": true, "uid": 2}, map[string]any{"name": "bob", "admin": false, "uid": 1}},
		"d":     map[string]any{"b": 1, "a": map[string]any{"x": 1, "y": []any{1}}}, "ip": "192.168.1.7/24", "six": "2001:db8::1",
	}
	for src, want := range map[string]any{
		"name | upper":                                  "WEB",
		"'a' + name | upper + 'b'":                      "aWEBb", // a filter binds to what is before it
		"name|upper|lower":                              "web",
		"n > 3 and name | length == 3":                  true,
		"-n | abs":                                      5,
		"(name + 'x') | upper":                          "WEBX",
		"name | ansible.builtin.upper":                  "WEB",
		"[name | upper, list | first]":                  []any{"WEB", "b"},
		"name | trunc(2)":                               "we", // of templates: the value comes last
		"trunc(2, name)":                                "we",
		"name | quote":                                  "web", // Ansible's, not that of templates
		"'it is' | quote":                               "'it is'",
		"list('a', 'b')":                                []any{"a", "b"},
		"'ab' | list":                                   []any{"a", "b"},
		"'12x' | int":                                   0,
		"'12x' | int(7)":                                7,
		"'ff' | int(base=16)":                           255,
		"'3.7' | float | round":                         4.0,
		"3.14159 | round(2)":                            3.14,
		"'yes' | bool":                                  true,
		"name | default('x')":                           "web",
		"empty | default('x', true)":                    "x",
		"empty | default('x', boolean=true)":            "x",
		"name == 'web' | ternary('a', 'b')":             false,
		"(name == 'web') | ternary('a', 'b')":           "a",
		"'a.b.c' | split('.') | last":                   "c",
		"'a b  c' | split":                              []any{"a", "b", "c"},
		"[1, 2] | join('-')":                            "1-2",
		"list | unique | sort | join(',')":              "a,b",
		"list | sort(reverse=true) | first":             "b",
		"list | union(['c'])":                           []any{"b", "a", "c"},
		"list | difference(['b'])":                      []any{"a"},
		"list | intersect(['a', 'z'])":                  []any{"a"},
		"nested | flatten":                              []any{1, 2, 3},
		"nested | flatten(1)":                           []any{1, 2, []any{3}},
		"users | map(attribute='name') | join(',')":     "eve,bob",
		"users | map(.name) | join(',')":                "eve,bob", // with a predicate of expr, too
		"users | map(attribute='no', default=1) | list": []any{1, 1},
		"list | map('upper') | first":                   "B",
		"list | map('regex_replace', '^', 'x-') | last": "x-b",
		"users | selectattr('admin') | length":          1,
		"users | rejectattr('admin') | map(attribute='name') | first":                   "bob",
		"users | selectattr('uid', 'gt', 1) | map(attribute='name') | first":            "eve",
		"users | sort(attribute='uid') | map(attribute='name') | first":                 "bob",
		"users | sum(attribute='uid')":                                                  3,
		"list | select('match', 'a')":                                                   []any{"a"},
		"['a', 'c'] | map('extract', {'a': 1, 'c': 3}) | list":                          []any{1, 3},
		"d | dict2items | map(attribute='key')":                                         []any{"a", "b"},
		"[{'key': 'k', 'value': 1}] | items2dict":                                       map[string]any{"k": 1},
		"d | combine({'b': 2}) | to_json":                                               `{"a":{"x":1,"y":[1]},"b":2}`,
		"d | combine({'a': {'x': 2}}, recursive=true) | to_json":                        `{"a":{"x":2,"y":[1]},"b":1}`,
		"d | combine({'a': {'y': [2]}}, recursive=true, list_merge='append') | to_json": `{"a":{"x":1,"y":[1,2]},"b":1}`,
		"'a-b-c' | regex_replace('-(\\w)', '+\\1')":                                     "a+b+c",
		"'a-b-c' | regex_replace('(?P<l>b)', '<\\g<l>>')":                               "a-<b>-c",
		"'key=val' | regex_search('(\\w+)=(\\w+)', '\\2') | first":                      "val",
		"'abc' | regex_search('x')":                                                     nil,
		"'a1b22' | regex_findall('\\d+')":                                               []any{"1", "22"},
		"'a.b' | regex_escape":                                                          `a\.b`,
		"'x' | b64encode | b64decode":                                                   "x",
		"'x' | hash('sha256') | length":                                                 64,
		"'a\\nb' | indent(2)":                                                           "a\n  b",
		"'a\\nb' | indent(width=2, first=true)":                                         "  a\n  b",
		"{'a': [1]} | to_nice_yaml(indent=2)":                                           "a:\n  - 1\n",
		"'{\"a\": 1}' | from_json":                                                      map[string]any{"a": 1},
		"'a: [1]' | from_yaml":                                                          map[string]any{"a": []any{1}},
		"'/a/b.conf' | basename":                                                        "b.conf",
		"'/a/b.conf' | dirname":                                                         "/a",
		"'b.tar.gz' | splitext":                                                         []any{"b.tar", ".gz"},
		"ip | ipaddr('address')":                                                        "192.168.1.7",
		"ip | ipaddr('network')":                                                        "192.168.1.0",
		"ip | ipaddr('netmask')":                                                        "255.255.255.0",
		"ip | ipaddr('prefix')":                                                         24,
		"ip | ipaddr('subnet')":                                                         "192.168.1.0/24",
		"ip | ipaddr('broadcast')":                                                      "192.168.1.255",
		"ip | ipaddr(1)":                                                                "192.168.1.1/24",
		"'10.0.0.0/255.255.0.0' | ipaddr('prefix')":                                     16,
		"'nope' | ipaddr":                                                               false,
		"['10.0.0.1', 'x', '::1'] | ipv4":                                               []any{"10.0.0.1"},
		"'10.0.0.0/8' | nthhost(-2)":                                                    "10.255.255.254",
		"'10.0.0.0/8' | ipsubnet(16, 3)":                                                "10.3.0.0/16",
		"'10.1.2.3' | ipsubnet(24)":                                                     "10.1.2.0/24",
		"'10.0.0.0/8' | network_in_network('10.1.0.0/16')":                              true,
		"six | ipwrap":                                                                  "[2001:db8::1]",
		"'10.0.0.1' | ipwrap":                                                           "10.0.0.1",
		"'10.0.0.1' | ipaddr('revdns')":                                                 "1.0.0.10.in-addr.arpa.",
	} {
		got, err := evaluate(t, src, env)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", src, err, diff)
		}
	}
}

func TestFilterErrors(t *testing.T) {
	for src, want := range map[string]string{
		"'a' | regex_replace('(?=x)', '')": "re2",
		"1 | dict2items":                   "dict2items: want a mapping, got the number 1",
		"[1] | join(sep=',')":              `join takes no argument "sep"`,
		"'a' | trim('a', 'b')":             "trim takes 1 arguments",
		"'a' | indent(100000)":             "from 0 to 1000",
		"[1] | map('nothing')":             `there is no filter "nothing"`,
		"'10.0.0.1' | ipaddr('what')":      `there is no query "what"`,
		"trunc('a')":                       "trunc takes 2 arguments, and here are 1",
		"trunc('a', 'b')":                  `argument 1 is the text "a", want a whole number`,
		"fail('x')":                        "fail: on purpose",
	} {
		if _, err := evaluate(t, src, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
}

// TestTests: tests of Ansible have the same results as in Ansible, and bind to the
// value before them.
func TestTests(t *testing.T) {
	env := map[string]any{"name": "web", "n": 6, "letters": []any{"a", "b"}, "no": nil, "m": map[string]any{"k": 1}, "r": map[string]any{"failed": true, "changed": false, "skipped": false},
		"is": "a variable", "version": "1.10"}
	for src, want := range map[string]any{
		"name is string":                           true,
		"name is not string":                       false,
		"not name is string":                       false,
		"n + 1 is string":                          nil, // 1 is string binds first
		"n is even and n is divisibleby 3":         true,
		"n is divisibleby(4)":                      false,
		"n is not divisibleby(4)":                  true,
		"n is number and n is integer":             true,
		"1.5 is float and n is not float":          true,
		"-n is even":                               true,
		"n - 1 is odd":                             nil,
		"no is none":                               true,
		"name is not none":                         true,
		"m is mapping and letters is sequence":     true,
		"name is iterable and n is not iterable":   true,
		"name is match('w')":                       true,
		"name is match('eb')":                      false,
		"name is search 'eb'":                      true,
		"name is search('EB', ignorecase=true)":    true,
		"name is regex('^web$')":                   true,
		"version is version('1.9', '>')":           true,
		"version is version('1.9', operator='lt')": false,
		"version is version('1.10')":               true,
		"'a' is in letters":                        true,
		"'c' is not in letters":                    true,
		"'a' is in ['a', 'b']":                     true,
		"letters is contains('a')":                 true,
		"['a'] is subset(letters)":                 true,
		"letters is superset(['c'])":               false,
		"n is gt 5 and n is lessthan 7":            true,
		"name is eq('web')":                        true,
		"true is true and name is truthy":          true,
		"r is failed":                              true,
		"r is not failed":                          false,
		"r is succeeded or r is skipped":           false,
		"not r is changed":                         true,
		"m.k is defined":                           true,
		"m.k is not undefined":                     true,
		"no | default('') | upper is string":       true,
		"name is ansible.builtin.match('w')":       true,
		"is is string":                             true,
		"[name is string, n is string]":            []any{true, false},
		"{'a': name is string}":                    map[string]any{"a": true},
		"filter(letters, # is in ['b'])":           []any{"b"},
		"name is string ? 'yes' : 'no'":            "yes",
		"(name is string) | ternary('yes', 'no')":  "yes",
	} {
		got, err := evaluate(t, src, env)
		if want == nil {
			if err == nil {
				t.Errorf("%s: %v, want an error", src, got)
			}
			continue
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", src, err, diff)
		}
	}
}

// TestChoices: A if CONDITION else B has the same results as in Jinja.
func TestChoices(t *testing.T) {
	env := map[string]any{"name": "web", "n": 6, "yes": true, "no": false}
	for src, want := range map[string]any{
		"'a' if yes else 'b'":                           "a",
		"'a' if no else 'b'":                            "b",
		"'a' if no":                                     "",
		"1 + 2 if yes else 3 + 4":                       3,
		"1 if no else 2 if no else 3":                   3,
		"1 if no else 2 if yes":                         2,
		"1 if no else 2 if no":                          "",
		"not yes if yes else yes":                       false,
		"n > 3 if yes and not no else n":                true,
		"name | upper if n == 6 else name | lower":      "WEB",
		"name | upper | lower if yes else '' | trim":    "web",
		"[1 if no else 2, 3 if yes else 4]":             []any{2, 3},
		"{'a': 1 if no else 2, 'b': 3}":                 map[string]any{"a": 2, "b": 3},
		"(1 if yes else 2) + (3 if no else 4)":          5,
		"concat([1 if no else 2], [1])":                 []any{2, 1},
		"'x' | default(1 if no else 2)":                 "x",
		"{'a': 1} | combine({'b': 2 if yes}) | to_json": `{"a":1,"b":2}`,
		"'a,b' | split(sep=',' if yes else ';')":        []any{"a", "b"},
		"'a' if name is match('w') else 'b'":            "a",
		"let x = 1 if no else 2; x + 1 if yes else 0":   3,
		"if yes { 1 } else { 2 }":                       1,
		"if no { 1 } else if yes { 2 } else { 3 }":      2,
		"yes ? 1 : 2 if yes else 3":                     1,
	} {
		got, err := evaluate(t, src, env)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", src, err, diff)
		}
	}
	for _, src := range []string{"1 if", "1 if else 2", "1 else 2", "1 if yes if no else 2", "name is", "name is not", "name is nothing", "is defined", "1 if 'text' else 2", "n is divisibleby"} {
		if got, err := evaluate(t, src, env); err == nil {
			t.Errorf("%s: %v", src, got)
		}
	}
}

// TestRewriteKeepsPlaces: Origin maps each rune of the rewritten expression to its
// place in the source.
func TestRewriteKeepsPlaces(t *testing.T) {
	for _, src := range []string{"a | upper == nope", `'\d' | f(b=nope)`, "x.y | a.b.upper + (nope | lower)", "a if b is defined else nope", "x is not version(nope, '1')", "a | upper is string + nope if c"} {
		s, err := testLanguage.Rewrite(src)
		if err != nil {
			t.Fatal(err)
		}
		at := len([]rune(s.Text[:strings.Index(s.Text, "nope")]))
		if want := strings.Index(src, "nope"); s.Origin(at) != want {
			t.Errorf("%s became %s: %d, want %d", src, s.Text, s.Origin(at), want)
		}
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string][]Piece{
		"plain":                        {{Text: "plain"}},
		"a {{ b }} c":                  {{Text: "a "}, {"b", true, 5}, {" c", false, 9}},
		"{{ {'a': {'b': 1}}}}":         {{"{'a': {'b': 1}}", true, 3}},
		"{{ '}}' }}":                   {{"'}}'", true, 3}},
		`{{ "\"}}" }}`:                 {{`"\"}}"`, true, 3}},
		"{{ '{{' }}":                   {{"'{{'", true, 3}},
		"a  {{- b -}}  c":              {{Text: "a"}, {"b", true, 7}, {"c", false, 14}},
		"{% raw %}{{ a }}{% endraw %}": {{"{{ a }}", false, 9}},
		"x{%- raw -%} a {%- endraw %}": {{Text: "xa"}},
		"{{ a\n  + b }}":               {{"a\n  + b", true, 3}},
		"100{%":                        {{Text: "100{%"}},
	} {
		got, err := Split(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for text, want := range map[string]int{"a {{ b": 2, "{{ }}": 3, "{{ 'a }}": 0, "x {% if a %}": 2, "{% raw %}": 0, "ab{{ {'a' }}": 2} {
		_, err := Split(text)
		if wrong, ok := err.(*TextError); !ok || wrong.Offset != want { //nolint:errorlint // it is one
			t.Errorf("%q: %v, want an error at %d", text, err, want)
		}
	}
}

// rejoin splits a text whose expressions are all texts in quotes, and joins the
// values.
func rejoin(t *testing.T, text string) string {
	t.Helper()
	pieces, err := Split(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var out strings.Builder
	for _, p := range pieces {
		if p.Expr {
			v, err := evaluate(t, p.Text, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.Text, _ = Print(v)
		}
		out.WriteString(p.Text)
	}
	return out.String()
}

// TestLiterals: Split reads any text that Literal has written as the same text.
func TestLiterals(t *testing.T) {
	for _, s := range []string{"", "{{", "}}", "{{ a }}", "{% raw %}{{", "{{{", "{{-x", "a{%if b%}", "{%{{%}}"} {
		if got := rejoin(t, Literal(s)); got != s {
			t.Errorf("%q reads as %q", s, got)
		}
	}
	if err := quick.Check(func(s string, braces []bool) bool {
		for i, b := range braces {
			at := min(i, len([]rune(s)))
			s = string([]rune(s)[:at]) + map[bool]string{true: "{{", false: "{%"}[b] + string([]rune(s)[at:])
		}
		return rejoin(t, Literal(s)) == s && (opening.MatchString(s) || rejoin(t, s) == s)
	}, nil); err != nil {
		t.Error(err)
	}
}

// FuzzSplit: Split returns the pieces of any text in order, or an error inside of the
// text.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"a {{ b | c('}}') }}", "{% raw %}{{{% endraw %}", "{{- {'a': \"\\\"\"} -}} x", "{{ `a", "{%- raw -%}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pieces, err := Split(text)
		if err != nil {
			if wrong, ok := err.(*TextError); !ok || wrong.Offset < 0 || wrong.Offset > len(text) { //nolint:errorlint // it is one
				t.Fatalf("%v", err)
			}
			return
		}
		last := -1
		for _, p := range pieces {
			if p.Text == "" || p.Offset <= last && last >= 0 || p.Offset > len(text) {
				t.Fatalf("%q: piece %+v", text, p)
			}
			last = p.Offset
			if p.Expr && text[p.Offset:p.Offset+len(p.Text)] != p.Text {
				t.Fatalf("%q: %q is not at %d", text, p.Text, p.Offset)
			}
		}
		if !IsText(text) && strings.Contains(text, "{{") {
			t.Fatalf("%q is no text", text)
		}
	})
}

// FuzzRewrite: whatever an expression is, its places are those of the source.
func FuzzRewrite(f *testing.F) {
	for _, seed := range []string{"a | b(c=1) | d", `'\d\'' | x.y.z`, "f(a=b|c, d", "(((|", "#|a", "let x = 1; x | f", "a is not defined if b is divisibleby 3 else c is in [d]", "f(a=b if c is failed, d", "x is", "if a is b {c} else if"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		s, err := testLanguage.Rewrite(src)
		if err != nil {
			return
		}
		last := 0
		for i := range len([]rune(s.Text)) + 1 {
			at := s.Origin(i)
			if at < 0 || at > len([]rune(src)) {
				t.Fatalf("%q became %q: rune %d is at %d", src, s.Text, i, at)
			}
			last = max(last, at)
		}
	})
}

func TestPrint(t *testing.T) {
	for want, v := range map[string]any{"1000000": 1e6, "1.5": 1.5, "true": true, "7": 7, "": "", `["<a>",1]`: []any{"<a>", 1}, `{"a":1}`: map[string]any{"a": 1}} {
		if got, err := Print(v); err != nil || got != want {
			t.Errorf("%v: %q, %v", v, got, err)
		}
	}
	if _, err := Print(nil); err == nil {
		t.Error("null has a text")
	}
}
