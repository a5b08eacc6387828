package compile

import "testing"

// TestUndefinedNamesInTemplateFiles: an undefined name in a template file is found
// before any host is contacted, where a host is certain to render the file and read
// the name.
func TestUndefinedNamesInTemplateFiles(t *testing.T) {
	vars := map[string]map[string]any{"h1": {"some": 1, "every": "a", "file": "good"}, "h2": {"every": "a", "file": "bad"}}
	const by = "(the task at site.yaml:2:11 renders it)"
	tests := map[string]struct{ play, want string }{ // empty: nothing is wrong
		"undefined name in a template file":             {"tasks: [{template: {src: bad}}]", `templates/bad:2:6: template {{ nothing }}: unknown name "nothing" ` + by},
		"name that some hosts lack":                     {"tasks: [{template: {src: some}}]", `templates/some:1:4: template {{ some }}: unknown name "some" on h2 ` + by},
		"all names are defined":                         {"tasks: [{template: {src: good}}]", ""},
		"names that are read under conditions only":     {"tasks: [{template: {src: maybe}}]", ""},
		"name that the template sets":                   {"tasks: [{template: {src: sets}}]", ""},
		"undefined name in an included template":        {"tasks: [{template: {src: outer}}]", `templates/bad:2:6: template {{ nothing }}: unknown name "nothing" ` + by},
		"include under a condition":                     {"tasks: [{template: {src: perhaps}}]", ""},
		"name that an included template sets":           {"tasks: [{template: {src: inner-sets}}]", ""},
		"undefined name in a define part":               {"tasks: [{template: {src: parts}}]", `templates/parts:1:30: template {{ .nothing }}: unknown name "nothing" ` + by},
		"undefined name without a dot in a define part": {"tasks: [{template: {src: bare-parts}}]", `templates/bare-parts:1:40: template {{ nothing }}: unknown name "nothing" ` + by},
		"define part that is not certain to be called":  {"tasks: [{template: {src: unused-parts}}]", ""},
		"name in the vars of the task":                  {"tasks: [{template: {src: bad}, vars: {nothing: 1}}]", ""},
		"variable whose value reads an undefined name":  {"vars: {nothing: '{{ missing }}'}\n  tasks: [{template: {src: bad}}]", `site.yaml:2:23: template {{ missing }}: unknown name "missing"`},
		"registered name":                               {"tasks: [{file: {path: /}, register: nothing}, {template: {src: bad}}]", ""},
		"name from the command line":                    {"tasks: [{template: {src: given}}]", ""},
		"task with a condition":                         {"tasks: [{template: {src: bad}, when: every == 1}]", ""},
		"task with ignore_errors":                       {"tasks: [{template: {src: bad}, ignore_errors: true}]", ""},
		"block with rescue":                             {"tasks: [{block: [{template: {src: bad}}], rescue: [{file: {path: /}}]}]", ""},
		"file names from loop items":                    {"tasks: [{template: {src: '{{ item }}'}, loop: [good, bad]}]", `templates/bad:2:6: `},
		"file names from the loop of an include":        {"tasks: [{include_tasks: inc.yaml, loop: [good, bad]}]", `templates/bad:2:6: `},
		"computed loop with items":                      {"tasks: [{template: {src: '{{ item }}'}, loop: '[\"bad\"]'}]", `templates/bad:2:6: `},
		"file name in a variable":                       {"tasks: [{template: {src: '{{ every }}'}}]", `playbook has no template "a"`},
		"file name in a variable of each host":          {"tasks: [{template: {src: '{{ file }}'}}]", `templates/bad:2:6: template {{ nothing }}: unknown name "nothing" ` + by},
		"file name of each host, run_once":              {"tasks: [{template: {src: '{{ file }}'}, run_once: true}]", ""},
		"file name from a fact":                         {"tasks: [{template: {src: '{{ facts.os }}'}}]", ""},
		"file name from a result":                       {"tasks: [{set: {f: bad}}, {template: {src: '{{ f }}'}}]", ""},
		"file name from the command line":               {"tasks: [{template: {src: '{{ given }}'}}]", `templates/bad:2:6: `},
		"file name from a promised variable":            {"tasks: [{template: {src: '{{ promised }}'}}]", ""},
		"missing file":                                  {"tasks: [{template: {src: none}}]", `site.yaml:2:28: the playbook has no template "none"; looked for [templates/none none]`},
		"missing file, task with a condition":           {"tasks: [{template: {src: none}, when: every == 1}]", ""},
		"template with a syntax error":                  {"tasks: [{template: {src: broken}}]", `templates/broken:2:1: template: `},
		"file that a task may write on localhost":       {"tasks: [{file: {path: /}, delegate_to: localhost}, {template: {src: bad}}]", ""},
		"file that a task writes on a host":             {"tasks: [{file: {path: /}, delegate_to: h1}, {template: {src: bad}}]", `templates/bad:2:6: `},
		"template of a role":                            {"roles: [r]", `roles/r/templates/x:1:4: template {{ nothing }}: unknown name "nothing" (the task at roles/r/tasks/main.yaml:1:3 renders it)`},
		"template in a nested argument":                 {"tasks: [{nested: {from: {name: bad}}}]", `templates/bad:2:6: `},
		"nested argument without template":              {"tasks: [{nested: {text: x}}]", ""},
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
