package jinja_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/ansible/jinja"
	"deployer/engine/lang"
)

// vars returns the variables of a host for the translated expressions.
func vars() map[string]any {
	return map[string]any{
		"host":   map[string]any{"name": "h1", "address": "10.0.0.1", "groups": []any{"web"}},
		"groups": map[string]any{"web": []any{"h1", "h2"}, "my-db": []any{"h3"}},
		"hosts": map[string]any{
			"h1": map[string]any{"address": "10.0.0.1", "vars": map[string]any{"role": "main"}},
			"h2": map[string]any{"address": "10.0.0.2", "vars": map[string]any{"role": "other"}},
		},
		"facts": map[string]any{"os_family": "debian", "os": "ubuntu", "os_version": "24.04", "arch": "amd64", "selinux": "enforcing", "default_ip": "10.0.0.1", "memory_bytes": 4 << 30},
		"run":   map[string]any{"check": false},
		"foo":   "bar", "port": 80, "yes": true, "empty": []any{}, "some": []any{"a", "b"},
		"r":     map[string]any{"rc": 0, "stdout": "one\ntwo", "stdout_lines": []any{"one", "two"}, "exists": true, "failed": false, "changed": true, "skipped": false, "stat": map[string]any{"exists": true}},
		"users": []any{map[string]any{"name": "ann", "admin": true}, map[string]any{"name": "bob", "admin": false, "shell": "/bin/zsh"}},
		"item":  map[string]any{"name": "x", "path": "/a/b.c"},
		"opts":  map[string]any{"a": 1, "b": 2},
	}
}

func TestCondition(t *testing.T) {
	for src, want := range map[string]struct {
		expr string
		is   any
	}{
		`foo is defined`:     {`"foo" in $env`, true},
		`foo is not defined`: {`"foo" not in $env`, false},
		`bla is undefined`:   {`"bla" not in $env`, true},
		`r.stdout is defined and (r.stdout | length > 0)`:              {`r?.stdout != nil && (len(r.stdout) > 0)`, true},
		`item.state|default('present') != 'absent'`:                    {`(item.state ?? "present") != "absent"`, true},
		`ansible_os_family == 'RedHat' or ansible_os_family == "Suse"`: {`facts.os_family == "redhat" || facts.os_family == "suse"`, false},
		`ansible_facts['distribution'] == 'Ubuntu'`:                    {`facts.os == "ubuntu"`, true},
		`ansible_facts.os_family not in ['RedHat', 'Debian']`:          {`facts.os_family not in ["redhat", "debian"]`, false},
		`ansible_distribution | lower == 'ubuntu'`:                     {`facts.os == "ubuntu"`, true},
		`ansible_architecture == 'x86_64'`:                             {`facts.arch == "amd64"`, true},
		`ansible_distribution_major_version | int >= 22`:               {`(split(facts.os_version, ".")[0] | int) >= 22`, true},
		`ansible_distribution_version is version('9.10', '>=')`:        {`versionCompare(facts.os_version, "9.10") >= 0`, true},
		`ansible_memtotal_mb > 1024`:                                   {`int(facts.memory_bytes / 1048576) > 1024`, true},
		`r.stdout and ansible_selinux.status == 'disabled'`:            {`r.stdout != "" && facts.selinux == "disabled"`, false},
		`ansible_facts.selinux.status == "enabled"`:                    {`facts.selinux != "disabled"`, true},
		`r.stat.exists`:                                   {`r.exists`, true},
		`not r.stat.isdir`:                                {`!(r?.type == "directory")`, true},
		`foo is not in some`:                              {`foo not in some`, true},
		`yes is sameas true and foo is in ['bar']`:        {`yes == true && foo in ["bar"]`, true},
		`r is failed`:                                     {`r.failed`, false},
		`r is not changed`:                                {`!r.changed`, false},
		`not (yes | bool)`:                                {`!(yes | bool)`, false},
		`r.rc != 0 and not yes`:                           {`r.rc != 0 && !yes`, false},
		`'two' in r.stdout`:                               {`r.stdout contains "two"`, true},
		`'three' not in r.stdout`:                         {`!(r.stdout contains "three")`, true},
		`inventory_hostname in groups['web']`:             {`host.name in groups.web`, true},
		`inventory_hostname == groups['my-db'][0]`:        {`host.name == groups["my-db"][0]`, false},
		`some | length`:                                   {`len(some) > 0`, true},
		`empty | length and yes`:                          {`len(empty) > 0 && yes`, false},
		`not ansible_check_mode`:                          {`!run.check`, true},
		`foo is match('b.*')`:                             {`foo is match("b.*")`, true},
		`{{ yes }}`:                                       {`yes`, true},
		`foo.startswith('b') and foo != none`:             {`foo startsWith "b" && foo != nil`, true},
		`(a_b | default(false)) or yes`:                   {`((a_b ?? false)) || yes`, true},
		`yes and (port == 80 or port == 443)`:             {`yes && (port == 80 || port == 443)`, true},
		`users | selectattr('admin') | list | length > 0`: {`len(users | selectattr("admin")) > 0`, true},
		`'x' if yes else 'y'`:                             {`yes ? "x" is truthy : "y" is truthy`, true},
	} {
		got, err := jinja.Condition(src)
		if err != nil || got != want.expr {
			t.Errorf("%s\n got %s, %v\nwant %s", src, got, err, want.expr)
			continue
		}
		if is := eval(t, got); is != want.is {
			t.Errorf("%s: %s gives %v, want %v", src, got, is, want.is)
		}
	}
}

func TestExpression(t *testing.T) {
	for src, want := range map[string]struct {
		expr string
		is   any
	}{
		`{{ some }}`: {`some`, []any{"a", "b"}},
		`{{ users | map(attribute='name') | list }}`:                            {`map(users, .name)`, []any{"ann", "bob"}},
		`{{ users | rejectattr('admin') | map(attribute='name') }}`:             {`map((users | rejectattr("admin")), .name)`, []any{"bob"}},
		`{{ users | selectattr('shell', 'defined') | map(attribute='shell') }}`: {`map((users | selectattr("shell", "defined")), .shell)`, []any{"/bin/zsh"}},
		`{{ users | selectattr('name', 'equalto', 'bob') | list }}`:             {`users | selectattr("name", "equalto", "bob")`, []any{vars()["users"].([]any)[1]}},
		`{{ groups['web'] | map('extract', hostvars, 'ansible_host') | list }}`: {`map(groups.web, hosts[#].address)`, []any{"10.0.0.1", "10.0.0.2"}},
		`{{ groups['web'] | map('extract', hostvars, ['role']) | join(',') }}`:  {`join(map(groups.web, hosts[#].vars.role), ",")`, "main,other"},
		`{{ hostvars['h2'].ansible_host }}`:                                     {`hosts.h2.address`, "10.0.0.2"},
		`{{ hostvars[inventory_hostname]['role'] }}`:                            {`hosts[host.name].vars.role`, "main"},
		`{{ some + ['c'] }}`:                       {`concat(some, ["c"])`, []any{"a", "b", "c"}},
		`{{ some | difference(['a']) }}`:           {`some | difference(["a"])`, []any{"b"}},
		`{{ opts | combine({'b': 3}) }}`:           {`opts | combine({"b": 3})`, map[string]any{"a": 1, "b": 3}},
		`{{ r.stdout_lines }}`:                     {`r.stdout_lines`, []any{"one", "two"}},
		`{{ foo ~ '-' ~ port }}`:                   {`string(foo) + "-" + string(port)`, "bar-80"},
		`{{ {'a': 1} | dict2items }}`:              {`{"a": 1} | dict2items`, []any{map[string]any{"key": "a", "value": 1}}},
		`{{ some[0] }}`:                            {`some[0]`, "a"},
		`{{ some[1:] }}`:                           {`type(some) == "string" ? join((some | list)[1:], "") : some[1:]`, []any{"b"}},
		`{{ yes | ternary('present', 'absent') }}`: {`yes | ternary("present", "absent")`, "present"},
		`{{ none_such | default([]) }}`:            {`none_such ?? []`, []any{}},
		`{{ range(1, 4) }}`:                        {`1..(4 - 1)`, []any{1, 2, 3}},
		`{{ item.path | basename }}`:               {`item.path | basename`, "b.c"},
	} {
		got, err := jinja.Expression(src)
		if err != nil || got != want.expr {
			t.Errorf("%s\n got %s, %v\nwant %s", src, got, err, want.expr)
			continue
		}
		if diff := cmp.Diff(want.is, eval(t, got)); diff != "" {
			t.Errorf("%s: %s\n%s", src, got, diff)
		}
	}
}

// eval evaluates an expression as a playbook does.
func eval(t *testing.T, src string) any {
	t.Helper()
	e, err := lang.CompileExpr(src, lang.Origin{})
	if err != nil {
		t.Errorf("%s: %v", src, err)
		return nil
	}
	out, err := e.Eval(vars())
	if err != nil {
		t.Errorf("%s: %v", src, err)
	}
	if out, err = lang.ToVariable(out); err != nil {
		t.Errorf("%s: %v", src, err)
	}
	return out
}

func TestText(t *testing.T) {
	for src, want := range map[string]struct{ tmpl, is string }{
		`plain`:                               {`plain`, "plain"},
		`a {{ foo }} b`:                       {`a {{ foo }} b`, "a bar b"},
		`{{ item.name }}-{{ port }}`:          {`{{ item.name }}-{{ port }}`, "x-80"},
		`{{ foo | default('x') }}`:            {`{{ dig "foo" "x" . }}`, "bar"},
		`{{ item.state|default('present') }}`: {`{{ dig "item" "state" "present" . }}`, "present"},
		`{{ inventory_hostname }} {{ ansible_default_ipv4.address }}`:   {`{{ host.name }} {{ facts.default_ip }}`, "h1 10.0.0.1"},
		`{{ hostvars[groups['web'][1]].ansible_host }}`:                 {`{{ (index hosts (index groups.web 1)).address }}`, "10.0.0.2"},
		`{{ groups['web'] | join(',') }}`:                               {`{{ join "," groups.web }}`, "h1,h2"},
		`{{ foo | upper }}{{ foo|length }}`:                             {`{{ expr "foo | upper" $ }}{{ expr "len(foo)" $ }}`, "BAR3"},
		`{{ 'on' if yes else 'off' }}`:                                  {`{{ ternary "on" "off" (not (empty yes)) }}`, "on"},
		`{{ foo | regex_replace('^(b)', '\\1_') }}`:                     {"{{ expr `foo | regex_replace(\"^(b)\", \"\\\\1_\")` $ }}", "b_ar"},
		`{{ ansible_distribution | lower }}`:                            {`{{ lower facts.os }}`, "ubuntu"},
		`{{ ansible_distribution_major_version }}`:                      {`{{ index (splitList "." facts.os_version) 0 }}`, "24"},
		`{{ opts | to_json }}`:                                          {`{{ expr "opts | to_json" $ }}`, `{"a":1,"b":2}`},
		`{{ some[0] ~ port }}`:                                          {`{{ expr "string(some[0]) + string(port)" $ }}`, "a80"},
		`{{ port + 1 }}`:                                                {`{{ expr "port + 1" $ }}`, "81"},
		`{{ 'a' + foo }}`:                                               {"{{ expr `\"a\" + foo` $ }}", "abar"},
		"{% if yes and port > 8 %}\nx\n{% endif %}\ny":                  {"{{ if and yes (gt port 8) }}x\n{{ end }}y", "x\ny"},
		"{% for s in some %}\n {{ s }}\n{% endfor %}\n z":               {"{{ range $s := expr \"map(some, #)\" $ }} {{ $s }}\n{{ end }} z", " a\n b\n z"},
		"a {% if yes %}b{% endif %}\nc":                                 {"a {{ if yes }}b{{ end }}c", "a bc"},
		"a {% if yes %}\nb\n{% endif %}\nc":                             {"a {{ if yes }}b\n{{ end }}c", "a b\nc"},
		"#jinja2: trim_blocks: False\na\n{% if yes %}\nb{% endif %}\nc": {"a\n{{ if yes }}\nb{{ end }}\nc", "a\n\nb\nc"},
		"a\n{%- if yes -%}\n b {%- endif %}\nc":                         {"a\n{{- if yes -}}\n b {{- end }}c", "abc"},
		"a\n{% if no is defined %}\nb\n{% elif yes %}\nc\n{% else %}\nd\n{% endif %}\ne\n": {
			"a\n{{- if hasKey . \"no\" }}\nb\n{{- else if yes }}\nc\n{{- else }}\nd\n{{- end }}\ne\n", "a\nc\ne\n"},
		"s\n{% for u in users %}\n{{ loop.index }} {{ u.name }} {{ u.shell | default('/bin/sh') }} {{ foo }}\n{% endfor %}\n": {
			"s\n{{- range $i, $u := expr \"map(users, #)\" $ }}\n{{ add1 $i }} {{ $u.name }} {{ dig \"shell\" \"/bin/sh\" $u }} {{ foo }}\n{{- end }}\n",
			"s\n1 ann /bin/sh bar\n2 bob /bin/zsh bar\n"},
		"{% for k, v in opts.items() %}{{ k }}={{ v }};{% endfor %}": {"{{ range $k, $v := opts }}{{ $k }}={{ $v }};{{ end }}", "a=1;b=2;"},
		"{% set x = port %}{{ x }}":                                  {"{{ $x := port }}{{ $x }}", "80"},
		"{# note #}z":                                                {"{{/* note */}}z", "z"},
		"a\n{# note #}\nz":                                           {"a\n{{- /* note */}}\nz", "a\nz"},
		"{% raw %}{{ x }}{% endraw %}":                               {`{{ "{{" }} x }}`, "{{ x }}"},
		"{{ 'x y' | indent(2) }}":                                    {"{{ expr `\"x y\" | indent(2)` $ }}", "x y"},
		"#jinja2: trim_blocks: True\n{{ foo }}":                      {"{{ foo }}", "bar"},
		"{{ (foo) }}{{ yes | bool }}":                                {"{{ foo }}{{ ternary \"True\" \"False\" (expr \"yes | bool\" $) }}", "barTrue"},
		"{{ none_such if none_such is defined else 'no' }}{{ port if port == 'x' else foo }}": {"{{ dig \"none_such\" \"no\" . }}{{ if expr `port == \"x\"` $ }}{{ port }}{{ else }}{{ foo }}{{ end }}", "nobar"},
		"{% if yes == 'clientspecified' %}a{% endif %}b":                                      {"{{ if expr `yes == \"clientspecified\"` $ }}a{{ end }}b", "b"},
		"{{ ansible_managed | comment }}":                                                     {"{{ expr `\"Managed by deployer: changes are overwritten.\" | comment` $ }}", "#\n# Managed by deployer: changes are overwritten.\n#"},
		"{{ ansible_facts.distribution_major_version | default() }}":                          {"{{ expr `split(facts.os_version, \".\")[0] ?? \"\"` $ }}", "24"},
		"{{ ansible_facts['os_family'] }}":                                                    {"{{ facts.os_family }}", "debian"},
	} {
		got, problems := jinja.Text(src, lang.NeedsDot)
		if untranslated(problems) || got != want.tmpl {
			t.Errorf("%s\n got %s, %v\nwant %s", src, got, problems, want.tmpl)
			continue
		}
		if want.is == "" {
			continue
		}
		if is, err := render(got, vars()); err != nil || is != want.is {
			t.Errorf("%s: %s gives %q, %v, want %q", src, got, is, err, want.is)
		}
	}
}

// untranslated reports whether a part has no translation.
func untranslated(problems []jinja.Problem) bool {
	return slices.ContainsFunc(problems, func(p jinja.Problem) bool { return !p.Differs })
}

// TestPlaybookText checks that texts with the same meaning in deployer stay
// unchanged, and that others are translated.
func TestPlaybookText(t *testing.T) {
	for src, want := range map[string]string{
		"{{ 'a' if foo is defined else 'b' }}":                "",
		"{{ foo is not defined }}-{{ r is failed }}":          `{{ ("foo" not in $env) ? "True" : "False" }}-{{ r.failed ? "True" : "False" }}`,
		"{{ foo is not defined }}":                            "",
		"{{ 1 if foo == 'x' and some is not string else 2 }}": "",
		"{{ foo is version('1.2', '>=') }}":                   "",
		"{{ foo | default('x') }}{{ foo | lower }}":           "",
		"{{ 'a' if some else 'b' }}":                          `{{ some ? "a" : "b" }}`,
		"{{ foo is none }}":                                   "{{ foo == nil }}",
		"{{ r.stat.exists is true }}":                         "{{ r.exists == true }}",
		"{{ foo ~ port }}":                                    "{{ string(foo) + string(port) }}",
	} {
		if want == "" {
			want = src
		}
		if got, problems := jinja.PlaybookText(src); got != want || len(problems) > 0 {
			t.Errorf("%s: %s, %v; want %s", src, got, problems, want)
		}
	}
}

func TestUntranslatable(t *testing.T) {
	for src, want := range map[string]string{
		`{{ ansible_version.full }}`: "ansible_version",
		`{{ users | random }}`:       "no filter",
		"{% for u in users if u.admin %}{% if not loop.last %},{% endif %}{% endfor %}": "neither loop nor else",
		"{% for a, b in pairs %}{% endfor %}":                                           "two variables",
		"{% do x.append(1) %}":                                                          "cannot change",
		"#jinja2: lstrip_blocks: True\nx":                                               "lstrip_blocks",
		`{% macro m(x) %}`:                                                              "define",
		`{% for %}`:                                                                     "cannot read",
		`{% endif %}`:                                                                   "endif without if",
		`{% if x %}`:                                                                    "has no end",
		`{{ x | }}`:                                                                     "want the name of a filter",
		`{{ ansible_default_ipv4 }}`:                                                    "the facts are",
		`{{ ansible_env.HOME }}`:                                                        "deployer facts",
		`{{ item.shell | default(omit) }}`:                                              "omit leaves out an argument of a task",
		`{{ shell | default(omit, true) }}`:                                             "omit leaves out an argument of a task",
		"{% if x %}{% set a = 1 %}{% endif %}":                                          "before the if",
	} {
		_, problems := jinja.Text(src, lang.NeedsDot)
		if len(problems) == 0 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("%s: %v, want %q", src, problems, want)
		}
	}
	for src, want := range map[string]string{
		`a is file`:                        "stat",
		`x | to_uuid`:                      `no filter "to_uuid"`,
		`foo is odd_one`:                   `no test "odd_one"`,
		`lookup('pipe', 'x') == 1`:         "delegate_to",
		`a b`:                              "cannot read on",
		`(a`:                               "want",
		``:                                 "too early",
		strings.Repeat("(", 9000):          "nested too deeply",
		strings.Repeat("not ", 9000) + "x": "nested too deeply",
	} {
		if got, err := jinja.Condition(src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %s, %v, want %q", src, got, err, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("{% for a in b %}{{ a.c | default('x') }}{% endfor %}")
	f.Add("{{ a if b is defined and c is not none else d is version('1', '<') }}")
	f.Add("{{ a if b else c }}{# x #}{%- set d = [1, {'a': 2}] -%}{% raw %}{{{% endraw %}")
	f.Fuzz(func(_ *testing.T, src string) {
		_, _ = jinja.Condition(src)
		_, _ = jinja.Expression(src)
		_, _ = jinja.Text(src, lang.NeedsDot)
		jinja.IsJinja(src)
	})
}
