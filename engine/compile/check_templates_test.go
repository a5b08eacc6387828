package compile

import "testing"

// TestUndefinedNamesInTemplateFiles: a name that a template file looks at in any case is found before
// any host is contacted, where it is certain that a host renders the file.
func TestUndefinedNamesInTemplateFiles(t *testing.T) {
	vars := map[string]map[string]any{"h1": {"some": 1, "every": "a", "file": "good"}, "h2": {"every": "a", "file": "bad"}}
	const by = "(the task at site.yaml:2:11 renders it)"
	tests := map[string]struct{ play, want string }{ // empty: nothing is wrong
		"a name":                   {"tasks: [{template: {src: bad}}]", `templates/bad:2:6: template {{ nothing }}: unknown name "nothing" ` + by},
		"of some hosts":            {"tasks: [{template: {src: some}}]", `templates/some:1:4: template {{ some }}: unknown name "some" on h2 ` + by},
		"all is well":              {"tasks: [{template: {src: good}}]", ""},
		"under conditions":         {"tasks: [{template: {src: maybe}}]", ""},
		"that it gives itself":     {"tasks: [{template: {src: sets}}]", ""},
		"that it includes":         {"tasks: [{template: {src: outer}}]", `templates/bad:2:6: template {{ nothing }}: unknown name "nothing" ` + by},
		"that it may include":      {"tasks: [{template: {src: perhaps}}]", ""},
		"that an include gives it": {"tasks: [{template: {src: inner-sets}}]", ""},
		"of a part of the file":    {"tasks: [{template: {src: parts}}]", `templates/parts:1:30: template {{ .nothing }}: unknown name "nothing" ` + by},
		"of a part without a dot":  {"tasks: [{template: {src: bare-parts}}]", `templates/bare-parts:1:40: template {{ nothing }}: unknown name "nothing" ` + by},
		"of a part not called":     {"tasks: [{template: {src: unused-parts}}]", ""},
		"of the task":              {"tasks: [{template: {src: bad}, vars: {nothing: 1}}]", ""},
		"through a variable":       {"vars: {nothing: '{{ missing }}'}\n  tasks: [{template: {src: bad}}]", `site.yaml:2:23: template {{ missing }}: unknown name "missing"`},
		"registered":               {"tasks: [{file: {path: /}, register: nothing}, {template: {src: bad}}]", ""},
		"given":                    {"tasks: [{template: {src: given}}]", ""},
		"with a condition":         {"tasks: [{template: {src: bad}, when: every == 1}]", ""},
		"ignored":                  {"tasks: [{template: {src: bad}, ignore_errors: true}]", ""},
		"in a rescue":              {"tasks: [{block: [{template: {src: bad}}], rescue: [{file: {path: /}}]}]", ""},
		"items":                    {"tasks: [{template: {src: '{{ item }}'}, loop: [good, bad]}]", `templates/bad:2:6: `},
		"items of an include":      {"tasks: [{include_tasks: inc.yaml, loop: [good, bad]}]", `templates/bad:2:6: `},
		"items that may be none":   {"tasks: [{template: {src: '{{ item }}'}, loop: '[\"bad\"]'}]", ""},
		"by a variable":            {"tasks: [{template: {src: '{{ every }}'}}]", `playbook has no template "a"`},
		"by one of each host":      {"tasks: [{template: {src: '{{ file }}'}}]", `templates/bad:2:6: template {{ nothing }}: unknown name "nothing" ` + by},
		"of each host, for all":    {"tasks: [{template: {src: '{{ file }}'}, run_once: true}]", ""},
		"by a fact":                {"tasks: [{template: {src: '{{ facts.os }}'}}]", ""},
		"by a result":              {"tasks: [{set: {f: bad}}, {template: {src: '{{ f }}'}}]", ""},
		"by what is given":         {"tasks: [{template: {src: '{{ given }}'}}]", `templates/bad:2:6: `},
		"by what will be given":    {"tasks: [{template: {src: '{{ promised }}'}}]", ""},
		"missing":                  {"tasks: [{template: {src: none}}]", `site.yaml:2:28: the playbook has no template "none"; looked for [templates/none none]`},
		"missing, maybe not used":  {"tasks: [{template: {src: none}, when: every == 1}]", ""},
		"broken":                   {"tasks: [{template: {src: broken}}]", `templates/broken:2:1: template: `},
		"made in the run":          {"tasks: [{file: {path: /}, delegate_to: localhost}, {template: {src: bad}}]", ""},
		"made elsewhere":           {"tasks: [{file: {path: /}, delegate_to: h1}, {template: {src: bad}}]", `templates/bad:2:6: `},
		"in a role":                {"roles: [r]", `roles/r/templates/x:1:4: template {{ nothing }}: unknown name "nothing" (the task at roles/r/tasks/main.yaml:1:3 renders it)`},
		"of an inner argument":     {"tasks: [{nested: {from: {name: bad}}}]", `templates/bad:2:6: `},
		"without the argument":     {"tasks: [{nested: {text: x}}]", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lib := inventoryOf(vars)
			lib.RunHosts, lib.Promised, lib.Extra = []string{"h1", "h2"}, []string{"promised"}, map[string]any{"given": "bad"}
			_, err := compileFiles(t, lib, "site.yaml", "- hosts: all\n  "+tt.play+"\n", "inc.yaml", "- template: {src: '{{ item }}'}\n",
				"templates/good", "{{ every }}{{ host.name }}{{ facts.os }}",
				"templates/bad", "x\n  {{ nothing }}",
				"templates/some", "{{ some }}",
				"templates/given", "{{ given }}{{ promised }}",
				"templates/maybe", `{{ if eq .every "b" }}{{ .a }}{{ else }}{{ end }}{{ range list }}{{ $.b }}{{ end }}{{ with "" }}{{ $.c }}{{ end }}`+
					`{{ get . "d" }}{{ dig "e" "" . }}{{ index . "f" }}{{ or true .g }}{{ define "h" }}{{ .h }}{{ end }}{{ hasKey . "i" }}{{ .i }}`,
				"templates/sets", `{{ if true }}{{ $_ := set . "nothing" 1 }}{{ end }}{{ .nothing }}`,
				"templates/inner-sets", `{{ include "sets" . }}{{ nothing }}`,
				"templates/outer", `{{ include "bad" $ | upper }}`,
				"templates/perhaps", `{{ if false }}{{ include "bad" . }}{{ end }}`,
				"templates/parts", `{{ define "p" }}<{{/* */}}{{ .nothing }}{{ end }}{{ template "p" . }}`,
				"templates/bare-parts", `{{ define "q" }}{{ .x }}{{ $.y }}{{ if nothing }}{{ end }}{{ end }}{{ template "q" "x" }}`,
				"templates/unused-parts", `{{ define "q" }}{{ nothing }}{{ end }}{{ if false }}{{ template "q" "x" }}{{ end }}`,
				"templates/broken", "a\n{{ end }}",
				"roles/r/tasks/main.yaml", "- template: {src: x}\n", "roles/r/templates/x", "{{ nothing }}")
			requireOneError(t, err, tt.want)
		})
	}
}
