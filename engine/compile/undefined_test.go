package compile

import "testing"

// TestUndefinedNames: a name that nobody gives a value is found before any host is
// contacted where it would be an error in any case, and only there.
func TestUndefinedNames(t *testing.T) {
	vars := map[string]map[string]any{"h1": {"some": 1, "every": 1}, "h2": {"every": 1}}
	tests := map[string]struct{ play, want string }{ // empty: nothing is wrong
		"argument":                  {"tasks: [{file: {path: '/{{ nothing }}'}}]", `site.yaml:2:30: template {{ nothing }}: unknown name "nothing"`},
		"field":                     {"tasks: [{file: {path: '/{{ nothing.a.b }}'}}]", `site.yaml:2:30: template {{ nothing.a.b }}: unknown name "nothing"`},
		"second line":               {"tasks:\n    - file:\n        path: |\n          a\n          b {{ nothing }}", `site.yaml:6:16: template {{ nothing }}: unknown name "nothing"`},
		"of some hosts":             {"tasks: [{file: {path: '/{{ some }}'}}]", `template {{ some }}: unknown name "some" on h2`},
		"of all hosts":              {"tasks: [{file: {path: '/{{ every }}'}}]", ""},
		"of the engine":             {"tasks: [{file: {path: '/{{ host.name }}{{ facts.os }}{{ run.id }}{{ groups.web }}'}}]", ""},
		"an item without a loop":    {"tasks: [{file: {path: '/{{ item }}'}}]", `unknown name "item"`},
		"an item":                   {"tasks: [{file: {path: '/{{ item }}{{ i }}'}, loop: [1], loop_control: {index_var: i}}]", ""},
		"an item of an include":     {"tasks: [{include_tasks: inc.yaml, loop: [1]}]", ""},
		"condition":                 {"tasks: [{file: {path: /}, when: 'nothing == 1'}]", `site.yaml:2:36: expression "nothing == 1": unknown name "nothing"`},
		"behind a condition":        {"tasks: [{file: {path: /}, when: 'every == 2 && nothing == 1'}]", ""},
		"second condition":          {"tasks: [{file: {path: /}, when: [every == 2, nothing == 1]}]", ""},
		"in front of an or":         {"tasks: [{file: {path: /}, when: 'nothing || every == 1'}]", `unknown name "nothing"`},
		"a choice":                  {"tasks: [{file: {path: /}, when: 'every == 1 ? true : nothing'}]", ""},
		"what decides it":           {"tasks: [{file: {path: /}, when: 'nothing ? true : false'}]", `unknown name "nothing"`},
		"in a predicate":            {"tasks: [{file: {path: /}, when: 'all([], nothing)'}]", ""},
		"of a function":             {"tasks: [{file: {path: /}, when: 'len(nothing) > 1'}]", `unknown name "nothing"`},
		"a name of its own":         {"tasks: [{file: {path: /}, when: 'let x = 1; x == 1'}]", ""},
		"optional":                  {"tasks: [{file: {path: /}, when: '(nothing ?? 1) == 1'}]", ""},
		"optional field":            {"tasks: [{file: {path: /}, when: 'nothing?.a == 1'}]", ""},
		"tested":                    {"tasks: [{file: {path: /}, when: '\"nothing\" in $env'}]", ""},
		"tested as in Ansible":      {"tasks: [{file: {path: /}, when: nothing is defined and nothing == 1}]", ""},
		"tested as missing":         {"tasks: [{file: {path: /}, when: nothing is not defined or nothing.a is failed}]", ""},
		"of a test":                 {"tasks: [{file: {path: /}, when: nothing is none}]", `site.yaml:2:35: expression "nothing is none": unknown name "nothing"`},
		"a value of a choice":       {"tasks: [{file: {path: '/{{ nothing if every == 2 else 1 }}'}}]", ""},
		"the condition of a choice": {"tasks: [{file: {path: '/{{ 1 if nothing else 2 }}'}}]", `site.yaml:2:35: template {{ 1 if nothing else 2 }}: unknown name "nothing"`},
		"of a looked up template":   {"tasks: [{file: {path: \"/{{ lookup('template', 'bad') }}\"}}]", `templates/bad:1:4: template {{ nothing }}: unknown name "nothing" (the lookup at site.yaml:2:30 renders it)`},
		"of one that may be":        {"tasks: [{file: {path: \"/{{ every == 2 ? lookup('template', 'bad') : 1 }}\"}}]", ""},
		"tested elsewhere":          {"tasks: [{file: {path: /}, when: '!(\"nothing\" in $env)'}, {file: {path: '/{{ nothing }}'}}]", ""},
		"under a condition":         {"tasks: [{file: {path: '/{{ nothing }}'}, when: every == 2}]", ""},
		"in a block with condition": {"tasks: [{block: [{file: {path: '/{{ nothing }}'}}], when: every == 2}]", ""},
		"in a block":                {"tasks: [{block: [{file: {path: '/{{ nothing }}'}}]}]", `unknown name "nothing"`},
		"condition of a block":      {"tasks: [{block: [{file: {path: /}}], when: nothing}]", `site.yaml:2:46: expression "nothing": unknown name`},
		"throttle":                  {"tasks: [{file: {path: /}, throttle: nothing}]", `unknown name "nothing"`},
		"throttle of a block":       {"tasks: [{block: [{file: {path: /}}], throttle: nothing}]", `unknown name "nothing"`},
		"rescued":                   {"tasks: [{block: [{file: {path: '/{{ nothing }}'}}], rescue: [{file: {path: /}}]}]", ""},
		"in the rescue":             {"tasks: [{block: [{file: {path: /}}], rescue: [{file: {path: '/{{ nothing }}'}}]}]", ""},
		"in always":                 {"tasks: [{block: [{file: {path: /}}], rescue: [{file: {path: /}}], always: [{file: {path: '/{{ nothing }}'}}]}]", `unknown name "nothing"`},
		"ignored":                   {"tasks: [{file: {path: '/{{ nothing }}'}, ignore_errors: true}]", ""},
		"in an if":                  {"tasks: [{file: {path: '/{{ every == 2 ? nothing : 1 }}'}}]", ""},
		"of an if":                  {"tasks: [{file: {path: '/{{ nothing ? 1 : 2 }}'}}]", `unknown name "nothing"`},
		"of an else if":             {"tasks: [{file: {path: '/{{ every ? 1 : nothing ? 2 : 3 }}'}}]", ""},
		"behind and":                {"tasks: [{file: {path: '/{{ false and nothing }}'}}]", ""},
		"in front of a default":     {"tasks: [{file: {path: '/{{ nothing | default(1) }}'}}]", ""},
		"hasKey":                    {"tasks: [{file: {path: '/{{ \"nothing\" in $env }}'}}]", ""},
		"in a default":              {"tasks: [{file: {path: '/{{ every | default(nothing) }}'}}]", ""},
		"a chain":                   {"tasks: [{file: {path: '/{{ nothing[1].a }}'}}]", `unknown name "nothing"`},
		"an argument of a filter":   {"tasks: [{file: {path: '/{{ every | join(nothing) }}'}}]", `unknown name "nothing"`},
		"registered later":          {"tasks: [{file: {path: '/{{ r.rc }}'}}, {file: {path: /}, register: r}]", ""},
		"set":                       {"tasks: [{set: {x: 1}}, {file: {path: '/{{ x }}'}}]", ""},
		"a variable of the play":    {"vars: {v: '{{ nothing }}'}\n  tasks: [{file: {path: '/{{ v }}'}}]", `site.yaml:2:17: template {{ nothing }}: unknown name "nothing"`},
		"one that nobody looks at":  {"vars: {v: '{{ nothing }}'}\n  tasks: [{file: {path: '/'}}]", ""},
		"one that may be looked at": {"vars: {v: '{{ nothing }}'}\n  tasks: [{file: {path: '/{{ false ? v : 1 }}'}}]", `unknown name "nothing"`},
		"one that a task sets":      {"vars: {v: '{{ nothing }}'}\n  tasks: [{set: {v: 1}}, {file: {path: '/{{ v }}'}}]", ""},
		"a default":                 {"roles: [r]", `roles/r/defaults/main.yaml:1:11: template {{ nothing }}: unknown name "nothing"`},
		"a default that some have":  {"vars: {some: 1}\n  tasks: [{include_role: hidden}]", ""},
		"of the command line":       {"tasks: [{file: {path: '/{{ given }}'}}]", ""},
		"that will be given":        {"tasks: [{file: {path: '/{{ promised }}'}}]", ""},
		"a loop":                    {"tasks: [{file: {path: '/{{ item }}'}, loop: nothing}]", `unknown name "nothing"`},
		"items":                     {"tasks: [{file: {path: '/{{ item }}'}, loop: ['{{ nothing }}']}]", `unknown name "nothing"`},
		"in a loop that is empty":   {"tasks: [{file: {path: '/{{ nothing }}'}, loop: 'filter([1], # > 2)'}]", ""},
		"in a loop that is not":     {"tasks: [{file: {path: '/{{ nothing }}'}, loop: [1]}]", `unknown name "nothing"`},
		"of one host for all":       {"tasks: [{file: {path: '/{{ some }}'}, run_once: true}]", ""},
		"of no host for all":        {"tasks: [{file: {path: '/{{ nothing }}'}, run_once: true}]", `unknown name "nothing"`},
		"a handler":                 {"handlers: [{name: h, file: {path: '/{{ nothing }}'}}]\n  tasks: [{file: {path: /}, notify: h}]", ""},
		"a judgement":               {"tasks: [{file: {path: /}, changed_when: nothing}]", ""},
		"environment":               {"tasks: [{run: ls, environment: {A: '{{ nothing }}'}}]", `unknown name "nothing"`},
		"delegate_to":               {"tasks: [{file: {path: /}, delegate_to: '{{ nothing }}'}]", `unknown name "nothing"`},
		"name":                      {"tasks: [{name: '{{ nothing }}', file: {path: /}}]", `unknown name "nothing"`},
		"a word of Ansible":         {"tasks: [{name: '{{ inventory_hostname }}', file: {path: /}}]", `unknown name "inventory_hostname"; deployer calls it host.name`},
		"misspelt":                  {"vars: {colour: 1}\n  tasks: [{file: {path: '/{{ color }}'}}]", `unknown name "color"; did you mean "colour"?`},
		"of a claim":                {"tasks: [{claim: {that: [nothing == 1, other == 2]}}]", `site.yaml:2:27: expression "nothing == 1": unknown name "nothing"`},
		"no host of the run":        {"tasks: []\n- hosts: h3\n  tasks: [{file: {path: '/{{ nothing }}'}}]", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lib := inventoryOf(vars)
			all := lib.Match
			lib.Match = func(pattern string) ([]string, error) {
				if pattern == "h3" {
					return []string{"h3"}, nil
				}
				return all(pattern)
			}
			lib.RunHosts, lib.Promised, lib.Extra = []string{"h1", "h2"}, []string{"promised"}, map[string]any{"given": 1}
			_, err := compileFiles(t, lib, "site.yaml", "- hosts: all\n  "+tt.play+"\n", "inc.yaml", "- file: {path: '/{{ item }}'}\n",
				"roles/r/tasks/main.yaml", "- file: {path: '/{{ mine }}'}\n", "roles/r/defaults/main.yaml", "mine: '{{ nothing }}'\n",
				"roles/hidden/tasks/main.yaml", "- file: {path: '/{{ every }}'}\n", "roles/hidden/defaults/main.yaml", "every: '{{ nothing }}'\n", "templates/bad", "{{ nothing }}")
			requireOneError(t, err, tt.want)
		})
	}
}
