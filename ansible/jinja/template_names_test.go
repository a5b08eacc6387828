package jinja_test

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"deployer/ansible/jinja"
	"deployer/engine/lang"
)

// render renders a text as deployer renders a template file.
func render(src string, vars map[string]any) (string, error) {
	tree := lang.Tree{Name: "templates", FS: fstest.MapFS{
		"t.tmpl":    {Data: []byte(src)},
		"part.tmpl": {Data: []byte("<{{ foo }}>")},
	}}
	files := lang.NewFiles("a role", "", func(string) fs.FS { return fstest.MapFS{} }, lang.SearchDir{Tree: tree, Dir: ".", Templates: true})
	t, err := files.Template("t.tmpl")
	if err != nil {
		return "", err
	}
	return t.Text(vars)
}

// TestNamesWithoutDot checks that a translation, whose variables have no dot, prints the same
// values as a file in which every variable has one.
func TestNamesWithoutDot(t *testing.T) {
	all := vars()
	for name, value := range map[string]any{"index": "i", "len": 3, "default": map[string]any{"port": 1}, "list": []any{"x", "y"}, "range": "r", "include": "inc"} {
		all[name] = value
	}
	for src, want := range map[string]struct{ tmpl, dotted, is string }{
		"{{ foo }} {{ host.name }}": {"{{ foo }} {{ host.name }}", "{{ .foo }} {{ .host.name }}", "bar h1"},
		"{% if yes and port > 8 %}{{ foo | upper }}{% endif %}": {
			"{{ if and yes (gt port 8) }}{{ expr \"foo | upper\" $ }}{{ end }}", "{{ if and .yes (gt .port 8) }}{{ upper .foo }}{{ end }}", "BAR"},
		"{{ index }}{{ len + 1 }}{{ default.port }}{{ range }}{{ include }}": {
			"{{ .index }}{{ expr \"len + 1\" $ }}{{ .default.port }}{{ .range }}{{ .include }}", "{{ .index }}{{ add .len 1 }}{{ .default.port }}{{ .range }}{{ .include }}", "i41rinc"},
		"{{ list[1] }}{{ list | length }}": {"{{ expr \"list[1]\" $ }}{{ expr \"len(list)\" $ }}", "{{ index .list 1 }}{{ len .list }}", "y2"},
		"{% for u in users %}{{ u.name }}@{{ host.name }}:{{ port }}{{ index }}{{ default.port }};{% endfor %}": {
			"{{ range $u := expr \"map(users, #)\" $ }}{{ $u.name }}@{{ host.name }}:{{ port }}{{ $.index }}{{ $.default.port }};{{ end }}",
			"{{ range $u := .users }}{{ $u.name }}@{{ $.host.name }}:{{ $.port }}{{ $.index }}{{ $.default.port }};{{ end }}",
			"ann@h1:80i1;bob@h1:80i1;"},
		"{% for item in list %}{{ loop.index0 }}{{ item }}{% for foo in some %}{{ foo }}{% endfor %}{{ foo }} {% endfor %}{{ item.name }}": {
			"{{ range $i, $item := expr \"map(list, #)\" $ }}{{ $i }}{{ $item }}{{ range $foo := expr \"map(some, #)\" $ }}{{ $foo }}{{ end }}{{ foo }} {{ end }}{{ item.name }}",
			"{{ range $i, $item := .list }}{{ $i }}{{ $item }}{{ range $foo := $.some }}{{ $foo }}{{ end }}{{ $.foo }} {{ end }}{{ .item.name }}",
			"0xabbar 1yabbar x"},
		"{% for u in users %}{{ hostvars['h1'].role }}{{ u.shell | default(foo) }} {% include 'part.j2' %}{% endfor %}": {
			`{{ range $u := expr "map(users, #)" $ }}{{ hosts.h1.vars.role }}{{ dig "shell" foo $u }} {{ include "part.tmpl" $ }}{{ end }}`,
			`{{ range $u := .users }}{{ $.hosts.h1.vars.role }}{{ dig "shell" $.foo $u }} {{ include "part.tmpl" $ }}{{ end }}`,
			"mainbar <bar>main/bin/zsh <bar>"},
		"{{ none_such | default(foo) }}{{ 'x' if opts.a == 1 else foo }}": {
			`{{ dig "none_such" foo . }}{{ if eq opts.a 1 }}{{ "x" }}{{ else }}{{ foo }}{{ end }}`,
			`{{ dig "none_such" .foo . }}{{ if eq .opts.a 1 }}{{ "x" }}{{ else }}{{ .foo }}{{ end }}`, "barx"},
	} {
		got, problems := jinja.Text(src, lang.NeedsDot)
		if untranslated(problems) || got != want.tmpl {
			t.Errorf("%s\n got %s, %v\nwant %s", src, got, problems, want.tmpl)
			continue
		}
		for _, tmpl := range []string{got, want.dotted} {
			if is, err := render(tmpl, all); err != nil || is != want.is {
				t.Errorf("%s: %s gives %q, %v, want %q", src, tmpl, is, err, want.is)
			}
		}
	}
}

// TestNamesOfFunctions checks that a variable that is called like a function or keyword of
// template files keeps its value, outside of loops and in them.
func TestNamesOfFunctions(t *testing.T) {
	names := []string{"len", "index", "printf", "html", "slice", "call", "eq", "include", "range", "with", "define", "template", "end", "break", "continue", "nil"}
	for name := range lang.Functions() {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "omit" || name == "lookup" {
			continue // words of Ansible
		}
		got, problems := jinja.Text("{{ "+name+" }}{% for s in some %}{{ "+name+".x }}{% endfor %}", lang.NeedsDot)
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		if is, err := render(got, map[string]any{name: map[string]any{"x": 1}, "some": []any{1, 2}}); err != nil || is != "map[x:1]11" {
			t.Errorf("%s: %s gives %q, %v", name, got, is, err)
		}
	}
}
