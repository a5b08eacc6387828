package lang

import (
	"strings"
	"testing"
)

// TestTemplateExpr: a template file evaluates expressions of playbooks, with variables of
// the host and of the template.
func TestTemplateExpr(t *testing.T) {
	vars := map[string]any{"mem": 4096, "ports": []any{3, 20, 1}, "users": []any{map[string]any{"name": "eve"}}, "user": "another", "word": "it's", "half": 0.5}
	for src, want := range map[string]string{
		`{{ expr "(mem * 0.7) | int" $ }}M`:                                                   "2867M",
		`{{ expr "ports | sort(reverse=true) | first" . }}`:                                   "20",
		`{{ if expr "mem > 4000 and 'eve' in (users | map(attribute='name'))" $ }}y{{ end }}`: "y",
		`{{ range $u := users }}{{ expr "u.name | upper" $ "u" $u }}{{ user }}{{ end }}`:      "EVEanother",
		`{{ range expr "ports | sort" $ }}{{ . }},{{ end }}`:                                  "1,3,20,",
		`{{ expr "word | quote" $ }} {{ expr "half * 4" $ }}`:                                 `'it'"'"'s' 2`,
		`{{ (expr "users | first" $).name }}`:                                                 "eve",
		`{{ expr "gone | default('none')" $ }}`:                                               "none",
	} {
		tpl, err := includeFiles(map[string]string{"a.tmpl": src}).Template("a.tmpl")
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got, err := tpl.Text(vars); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", src, got, err, want)
		}
	}
	tpl, err := includeFiles(map[string]string{"a.tmpl": "a\n{{ range $u := users }}{{ end }} {{ expr \"u + mem + (gone ?? 1)\" $ \"u\" 1 }}"}).Template("a.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	if r := tpl.Refs(); r.All() || !r.Has("mem") || !r.Has("gone") || r.Has("u") {
		t.Errorf("refs = %v all=%v, want mem, gone and users", r.Names(), r.All())
	}
	var uses []string
	for _, u := range tpl.DefiniteUses() {
		uses = append(uses, u.Pos.String()+" "+u.Name)
	}
	if got := strings.Join(uses, ", "); got != "a.tmpl:2:16 users, a.tmpl:2:37 mem" {
		t.Errorf("definite uses %s", got)
	}
}

func TestTemplateExprErrors(t *testing.T) {
	for src, want := range map[string]string{
		"x\n {{ expr \"mem |\" $ }}":        "a.tmpl:2:5: ",
		`{{ expr .mem $ }}`:                 "constant expression",
		`{{ expr "mem" }}`:                  "constant expression",
		`{{ expr "mem" $ "u" }}`:            "constant expression",
		`{{ expr "mem" $ .name 1 }}`:        "constant expression",
		`{{ expr "nofilter(mem)" $ }}`:      `unknown function "nofilter"`,
		`{{ expr "lookup('env', 'A')" $ }}`: "has no lookups",
	} {
		if _, err := includeFiles(map[string]string{"a.tmpl": src}).Template("a.tmpl"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
	tpl, err := includeFiles(map[string]string{"a.tmpl": "\n{{ expr \"mme\" $ }}"}).Template("a.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tpl.Text(map[string]any{"mem": 1}); err == nil || !strings.Contains(err.Error(), `unknown name "mme"; did you mean "mem"?`) || !strings.Contains(err.Error(), "a.tmpl:2:") {
		t.Errorf("%v", err)
	}
}
