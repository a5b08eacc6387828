package compile

import "testing"

// TestUndefinedNames: a name without a value is found before any host is contacted
// where the run is certain to fail on it, and only there.
func TestUndefinedNames(t *testing.T) {
	vars := map[string]map[string]any{"h1": {"some": 1, "every": 1}, "h2": {"every": 1}}
	tests := map[string]struct{ play, want string }{ // empty: nothing is wrong
		"argument":                               {"tasks: [{file: {path: '/{{ nothing }}'}}]", `site.yaml:2:30: template {{ nothing }}: unknown name "nothing"`},
		"field":                                  {"tasks: [{file: {path: '/{{ nothing.a.b }}'}}]", `site.yaml:2:30: template {{ nothing.a.b }}: unknown name "nothing"`},
		"second line":                            {"tasks:\n    - file:\n        path: |\n          a\n          b {{ nothing }}", `site.yaml:6:16: template {{ nothing }}: unknown name "nothing"`},
		"variable that some hosts lack":          {"tasks: [{file: {path: '/{{ some }}'}}]", `template {{ some }}: unknown name "some" on h2`},
		"variable of all hosts":                  {"tasks: [{file: {path: '/{{ every }}'}}]", ""},
		"names of the engine":                    {"tasks: [{file: {path: '/{{ host.name }}{{ facts.os }}{{ run.id }}{{ groups.web }}'}}]", ""},
		"item without a loop":                    {"tasks: [{file: {path: '/{{ item }}'}}]", `unknown name "item"`},
		"item and index of a loop":               {"tasks: [{file: {path: '/{{ item }}{{ i }}'}, loop: [1], loop_control: {index_var: i}}]", ""},
		"item of the loop of an include":         {"tasks: [{include_tasks: inc.yaml, loop: [1]}]", ""},
		"condition":                              {"tasks: [{file: {path: /}, when: 'nothing == 1'}]", `site.yaml:2:36: expression "nothing == 1": unknown name "nothing"`},
		"right side of &&":                       {"tasks: [{file: {path: /}, when: 'every == 2 && nothing == 1'}]", ""},
		"second condition":                       {"tasks: [{file: {path: /}, when: [every == 2, nothing == 1]}]", ""},
		"left side of ||":                        {"tasks: [{file: {path: /}, when: 'nothing || every == 1'}]", `unknown name "nothing"`},
		"branch of ?:":                           {"tasks: [{file: {path: /}, when: 'every == 1 ? true : nothing'}]", ""},
		"condition of ?:":                        {"tasks: [{file: {path: /}, when: 'nothing ? true : false'}]", `unknown name "nothing"`},
		"predicate of all":                       {"tasks: [{file: {path: /}, when: 'all([], nothing)'}]", ""},
		"argument of a function":                 {"tasks: [{file: {path: /}, when: 'len(nothing) > 1'}]", `unknown name "nothing"`},
		"name that let defines":                  {"tasks: [{file: {path: /}, when: 'let x = 1; x == 1'}]", ""},
		"left side of ??":                        {"tasks: [{file: {path: /}, when: '(nothing ?? 1) == 1'}]", ""},
		"field by ?.":                            {"tasks: [{file: {path: /}, when: 'nothing?.a == 1'}]", ""},
		"tested with in $env":                    {"tasks: [{file: {path: /}, when: '\"nothing\" in $env'}]", ""},
		"tested with is defined":                 {"tasks: [{file: {path: /}, when: nothing is defined and nothing == 1}]", ""},
		"tested with is not defined":             {"tasks: [{file: {path: /}, when: nothing is not defined or nothing.a is failed}]", ""},
		"operand of is none":                     {"tasks: [{file: {path: /}, when: nothing is none}]", `site.yaml:2:35: expression "nothing is none": unknown name "nothing"`},
		"value of if-else":                       {"tasks: [{file: {path: '/{{ nothing if every == 2 else 1 }}'}}]", ""},
		"condition of if-else":                   {"tasks: [{file: {path: '/{{ 1 if nothing else 2 }}'}}]", `site.yaml:2:35: template {{ 1 if nothing else 2 }}: unknown name "nothing"`},
		"template of a lookup":                   {"tasks: [{file: {path: \"/{{ lookup('template', 'bad') }}\"}}]", `templates/bad:1:4: template {{ nothing }}: unknown name "nothing" (the lookup at site.yaml:2:30 renders it)`},
		"template of a lookup in a branch":       {"tasks: [{file: {path: \"/{{ every == 2 ? lookup('template', 'bad') : 1 }}\"}}]", ""},
		"tested by an earlier task":              {"tasks: [{file: {path: /}, when: '!(\"nothing\" in $env)'}, {file: {path: '/{{ nothing }}'}}]", ""},
		"task with a condition":                  {"tasks: [{file: {path: '/{{ nothing }}'}, when: every == 2}]", ""},
		"task in a block with a condition":       {"tasks: [{block: [{file: {path: '/{{ nothing }}'}}], when: every == 2}]", ""},
		"task in a block":                        {"tasks: [{block: [{file: {path: '/{{ nothing }}'}}]}]", `unknown name "nothing"`},
		"condition of a block":                   {"tasks: [{block: [{file: {path: /}}], when: nothing}]", `site.yaml:2:46: expression "nothing": unknown name`},
		"throttle":                               {"tasks: [{file: {path: /}, throttle: nothing}]", `unknown name "nothing"`},
		"throttle of a block":                    {"tasks: [{block: [{file: {path: /}}], throttle: nothing}]", `unknown name "nothing"`},
		"task in a block with rescue":            {"tasks: [{block: [{file: {path: '/{{ nothing }}'}}], rescue: [{file: {path: /}}]}]", ""},
		"task in the rescue part":                {"tasks: [{block: [{file: {path: /}}], rescue: [{file: {path: '/{{ nothing }}'}}]}]", ""},
		"task in the always part":                {"tasks: [{block: [{file: {path: /}}], rescue: [{file: {path: /}}], always: [{file: {path: '/{{ nothing }}'}}]}]", `unknown name "nothing"`},
		"task with ignore_errors":                {"tasks: [{file: {path: '/{{ nothing }}'}, ignore_errors: true}]", ""},
		"branch of ?: in a text":                 {"tasks: [{file: {path: '/{{ every == 2 ? nothing : 1 }}'}}]", ""},
		"condition of ?: in a text":              {"tasks: [{file: {path: '/{{ nothing ? 1 : 2 }}'}}]", `unknown name "nothing"`},
		"condition of a nested ?:":               {"tasks: [{file: {path: '/{{ every ? 1 : nothing ? 2 : 3 }}'}}]", ""},
		"right side of and":                      {"tasks: [{file: {path: '/{{ false and nothing }}'}}]", ""},
		"value before default":                   {"tasks: [{file: {path: '/{{ nothing | default(1) }}'}}]", ""},
		"hasKey":                                 {"tasks: [{file: {path: '/{{ \"nothing\" in $env }}'}}]", ""},
		"argument of default":                    {"tasks: [{file: {path: '/{{ every | default(nothing) }}'}}]", ""},
		"element and field":                      {"tasks: [{file: {path: '/{{ nothing[1].a }}'}}]", `unknown name "nothing"`},
		"an argument of a filter":                {"tasks: [{file: {path: '/{{ every | join(nothing) }}'}}]", `unknown name "nothing"`},
		"registered by a later task":             {"tasks: [{file: {path: '/{{ r.rc }}'}}, {file: {path: /}, register: r}]", ""},
		"set by an earlier task":                 {"tasks: [{set: {x: 1}}, {file: {path: '/{{ x }}'}}]", ""},
		"value of a variable of the play":        {"vars: {v: '{{ nothing }}'}\n  tasks: [{file: {path: '/{{ v }}'}}]", `site.yaml:2:17: template {{ nothing }}: unknown name "nothing"`},
		"value of a variable that no task reads": {"vars: {v: '{{ nothing }}'}\n  tasks: [{file: {path: '/'}}]", ""},
		"value of a variable in a branch":        {"vars: {v: '{{ nothing }}'}\n  tasks: [{file: {path: '/{{ false ? v : 1 }}'}}]", `unknown name "nothing"`},
		"value of a variable that a task sets":   {"vars: {v: '{{ nothing }}'}\n  tasks: [{set: {v: 1}}, {file: {path: '/{{ v }}'}}]", ""},
		"default of a role":                      {"roles: [r]", `roles/r/defaults/main.yaml:1:11: template {{ nothing }}: unknown name "nothing"`},
		"default of a role, inventory variable of some hosts": {"vars: {some: 1}\n  tasks: [{include_role: hidden}]", ""},
		"variable of the command line":                        {"tasks: [{file: {path: '/{{ given }}'}}]", ""},
		"promised variable":                                   {"tasks: [{file: {path: '/{{ promised }}'}}]", ""},
		"expression of a loop":                                {"tasks: [{file: {path: '/{{ item }}'}, loop: nothing}]", `unknown name "nothing"`},
		"written items of a loop":                             {"tasks: [{file: {path: '/{{ item }}'}, loop: ['{{ nothing }}']}]", `unknown name "nothing"`},
		"task with a loop that has no items":                  {"tasks: [{file: {path: '/{{ nothing }}'}, loop: 'filter([1], # > 2)'}]", `unknown name "nothing" in a loop, whose first item would fail`},
		"name of some hosts in a loop that has no items":      {"tasks: [{file: {path: '/{{ some }}'}, loop: 'filter([1], # > 2)'}]", ""},
		"name of some hosts in a loop with items on one":      {"tasks: [{file: {path: '/{{ some }}'}, loop: 'host.name == \"h2\" ? [1] : []'}]", `unknown name "some" on h2`},
		"name of the hosts whose loop has items":              {"tasks: [{file: {path: '/{{ some }}'}, loop: 'host.name == \"h1\" ? [1] : []'}]", ""},
		"loop of a result":                                    {"tasks: [{run: ls, register: r}, {file: {path: '/{{ nothing }}'}, loop: r.lines}]", `unknown name "nothing" in a loop`},
		"tested name in a loop without items":                 {"tasks: [{file: {path: '/{{ nothing | default(1) }}'}, loop: 'filter([1], # > 2)'}]", ""},
		"condition in a loop without items":                   {"tasks: [{file: {path: '/{{ nothing }}'}, when: item == 1, loop: 'filter([1], # > 2)'}]", ""},
		"include with a loop without items":                   {"tasks: [{include_tasks: bad.yaml, loop: 'filter([1], # > 2)'}]", `bad.yaml:1:21: template {{ nothing }}: unknown name "nothing" in a loop`},
		"names of an include with a loop without items":       {"tasks: [{include_tasks: own.yaml, loop: 'filter([1], # > 2)'}]", ""},
		"task with a loop that has items":                     {"tasks: [{file: {path: '/{{ nothing }}'}, loop: [1]}]", `unknown name "nothing"`},
		"run_once, some hosts have the variable":              {"tasks: [{file: {path: '/{{ some }}'}, run_once: true}]", ""},
		"run_once, no host has the variable":                  {"tasks: [{file: {path: '/{{ nothing }}'}, run_once: true}]", `unknown name "nothing"`},
		"task of a handler":                                   {"handlers: [{name: h, file: {path: '/{{ nothing }}'}}]\n  tasks: [{file: {path: /}, notify: h}]", ""},
		"changed_when":                                        {"tasks: [{file: {path: /}, changed_when: nothing}]", ""},
		"environment":                                         {"tasks: [{run: ls, environment: {A: '{{ nothing }}'}}]", `unknown name "nothing"`},
		"delegate_to":                                         {"tasks: [{file: {path: /}, delegate_to: '{{ nothing }}'}]", `unknown name "nothing"`},
		"name":                                                {"tasks: [{name: '{{ nothing }}', file: {path: /}}]", `unknown name "nothing"`},
		"variable of Ansible":                                 {"tasks: [{name: '{{ inventory_hostname }}', file: {path: /}}]", `unknown name "inventory_hostname"; deployer calls it host.name`},
		"misspelt name":                                       {"vars: {colour: 1}\n  tasks: [{file: {path: '/{{ color }}'}}]", `unknown name "color"; did you mean "colour"?`},
		"conditions as an argument":                           {"tasks: [{claim: {that: [nothing == 1, other == 2]}}]", `site.yaml:2:27: expression "nothing == 1": unknown name "nothing"`},
		"play without hosts of the run":                       {"tasks: []\n- hosts: h3\n  tasks: [{file: {path: '/{{ nothing }}'}}]", ""},
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
				"bad.yaml", "- file: {path: '/{{ nothing }}{{ item }}'}\n", "own.yaml", "- {run: ls, register: r}\n- file: {path: '/{{ r.rc }}{{ item.x }}'}\n- {include_tasks: inc.yaml, loop: item.list, loop_control: {loop_var: inner}, when: item.x}\n",
				"roles/r/tasks/main.yaml", "- file: {path: '/{{ mine }}'}\n", "roles/r/defaults/main.yaml", "mine: '{{ nothing }}'\n",
				"roles/hidden/tasks/main.yaml", "- file: {path: '/{{ every }}'}\n", "roles/hidden/defaults/main.yaml", "every: '{{ nothing }}'\n", "templates/bad", "{{ nothing }}")
			requireOneError(t, err, tt.want)
		})
	}
}
