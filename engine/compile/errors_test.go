package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/strictyaml"
)

// TestCompileErrors: each error names its place.
func TestCompileErrors(t *testing.T) {
	tests := map[string]struct {
		tasks string // of one play; the first line is line 4
		want  string
	}{
		"unknown keyword": {"- {file: {path: /a}, whne: true}",
			`site.yaml:4:24: unknown task keyword or module "whne"; did you mean "when"?`},
		"unknown module": {"- {name: a, flie: {path: /a}}",
			`site.yaml:4:15: unknown task keyword or module "flie"; did you mean "file"?`},
		"unknown argument": {"- file:\n        path: /a\n        mdoe: '0644'",
			`site.yaml:6:9: unknown key "mdoe"; did you mean "mode"?`},
		"unknown argument beside a template": {"- file:\n        path: '{{ a }}'\n        mdoe: '0644'",
			`site.yaml:6:9: unknown key "mdoe"; did you mean "mode"?`},
		"missing argument": {"- file: {mode: '0644'}", `site.yaml:4:11: key "path" is required`},
		"wrong type":       {"- file: {path: /a, count: three}", `site.yaml:4:29: count: want a whole number, got "three"`},
		"two modules":      {"- {file: {path: /a}, plan: {}}", `site.yaml:4:24: a task can have one module only, and this one has file and plan`},
		"nothing":          {"- {name: a}", `site.yaml:4:5: the task does nothing: name a module, a block, include_role, include_tasks, include_vars or meta`},
		"block and module": {"- {file: {path: /a}, block: []}", `site.yaml:4:5: a task can be one thing only, and this one is file and block`},
		"not a task":       {"- file", `site.yaml:4:5: want a task: a mapping with a module such as file: or command:`},
		"template syntax":  {"- file: {path: 'a {{ b '}", `site.yaml:4:21: template: {{ has no }}; for the characters themselves write {{ '{{' }}, or {% raw %} and {% endraw %} around the text`},
		"template function": {"- file: {path: '{{ b | quoet }}'}",
			`site.yaml:4:26: template {{ b | quoet }}: unknown function "quoet"; did you mean "quote"?`},
		"no environment":                    {"- file: {path: '{{ env(\"HOME\") }}'}", `site.yaml:4:22: template {{ env("HOME") }}: unknown function "env"`},
		"expression syntax":                 {"- {file: {path: /a}, when: 'a ==='}", `site.yaml:4:35: expression "a ===": unexpected token Operator("=")`},
		"template in when":                  {"- {file: {path: /a}, when: '{{ a }}'}", `site.yaml:4:30: want an expression without {{ }}; write a`},
		"unknown handler":                   {"- {file: {path: /a}, notify: [relaod]}", `site.yaml:4:33: notify: this play has no handler "relaod"; did you mean "reload"?`},
		"unknown label":                     {"- {file: {path: /a}, needs: [upp]}\n  - {file: {path: /a}, label: up}", `site.yaml:4:32: needs: no task has the label "upp"; did you mean "up"?`},
		"label twice":                       {"- {file: {path: /a}, label: up}\n  - {file: {path: /a}, label: up}", `site.yaml:5:24: label "up" exists already, at site.yaml:4:24`},
		"needs what is later":               {"- {file: {path: /a}, needs: up}\n  - {file: {path: /a}, label: up}", `site.yaml:4:31: deadlock: this task waits for label "up" at site.yaml:5:24, which comes only after this task`},
		"reserved variable":                 {"- {file: {path: /a}, vars: {host: 1}}", `site.yaml:4:31: the variable "host" belongs to the engine; choose another name`},
		"reserved register":                 {"- {file: {path: /a}, register: facts}", `site.yaml:4:24: the name "facts" belongs to the engine; choose another one`},
		"unknown role":                      {"- include_role: wbe", `site.yaml:4:19: unknown role "wbe"; did you mean "web"?`},
		"unknown file":                      {"- include_tasks: more.yaml", `site.yaml:4:20: reading more.yaml: open more.yaml: file does not exist`},
		"circular include":                  {"- include_tasks: loop.yaml", `loop.yaml:1:18: files include each other in a circle: loop.yaml -> loop.yaml`},
		"circular roles":                    {"- include_role: a", `site.yaml:4:19: roles depend on each other in a circle: a -> b -> a`},
		"meta":                              {"- meta: flush", `site.yaml:4:11: meta of task: want one of flush_handlers, end_host, end_play, got "flush"; did you mean "flush_handlers"?`},
		"block keyword":                     {"- {block: [], register: x}", `site.yaml:4:17: block does not take "register"`},
		"barrier in throttle":               {"- throttle: 1\n    block: [{file: {path: /a}, barrier: true}]", `site.yaml:5:32: a barrier cannot be inside a block with throttle or rollout: hosts inside would wait for hosts that may not enter`},
		"barrier in rollout":                {"- rollout:\n    block: [{file: {path: /a}, barrier: true}]", `site.yaml:5:32: a barrier cannot be inside a block with throttle or rollout: hosts inside would wait for hosts that may not enter`},
		"run_once in rollout":               {"- rollout: {canary: [all]}\n    block: [{file: {path: /a}, run_once: true}]", `site.yaml:5:13: run_once cannot be inside a rollout: hosts inside would wait for hosts that may not enter`},
		"end_host in rollout":               {"- rollout: {}\n    block: [{meta: end_host}]", `site.yaml:5:13: meta: end_host cannot be inside a rollout: a host leaves the rollout only when its checks have passed`},
		"rollout in rollout":                {"- rollout: {}\n    block: [{rollout: {}, block: []}]", `site.yaml:5:23: a rollout cannot be inside another rollout, at site.yaml:4:14`},
		"rollout and throttle":              {"- {rollout: {}, throttle: 1, block: []}", `site.yaml:4:5: a block cannot have both throttle and rollout; use max_parallel of rollout`},
		"rollout and rescue":                {"- {rollout: {}, block: [], rescue: [{file: {path: /a}}]}", `site.yaml:4:5: a block with rollout cannot have rescue: hosts on which it fails are restored; put a block with rescue inside`},
		"pre_tasks without rollout":         {"- {block: [], pre_tasks: []}", `site.yaml:4:17: pre_tasks of a block need rollout, which decides when a host has its turn; without it, use a block around this one, with always`},
		"post_tasks without rollout":        {"- {block: [], post_tasks: []}", `site.yaml:4:17: post_tasks of a block need rollout, which decides when a host has its turn; without it, use a block around this one, with always`},
		"pre_tasks of a module":             {"- {file: {path: /a}, pre_tasks: []}", `site.yaml:4:24: a task with a module does not take "pre_tasks"`},
		"rollout with pre_tasks and rescue": {"- {rollout: {}, block: [], pre_tasks: [{file: {path: /a}}], rescue: [{file: {path: /a}}]}", `site.yaml:4:5: a block with rollout cannot have rescue: hosts on which it fails are restored; put a block with rescue inside`},
		"run_once in post_tasks":            {"- rollout: {}\n    block: []\n    post_tasks: [{file: {path: /a}, run_once: true}]", `site.yaml:6:18: run_once cannot be inside a rollout: hosts inside would wait for hosts that may not enter`},
		"block reads pre_tasks":             {"- rollout: {}\n    pre_tasks: [{file: {path: /a}, register: x}]\n    block: [{file: {path: '{{ x.changed }}'}}]", `site.yaml:6:13: x is set by pre_tasks at site.yaml:5:17, which have not run when a host checks whether the rollout would change it; set it before the block, or read it in post_tasks`},
		"rollout's key":                     {"- {rollout: {canarys: [all]}, block: []}", `site.yaml:4:16: unknown key "canarys" in rollout; did you mean "canary"?`},
		"rollout's canaries":                {"- {rollout: {canaries: 10%}, block: []}", `site.yaml:4:26: canaries: want a number of hosts of each group, or an expression`},
		"rollout's failures":                {"- {rollout: {max_fail: [1]}, block: []}", `site.yaml:4:26: max_fail: want a number of hosts, a share such as 10%, or an expression`},
		"rollout's critical":                {"- {rollout: {critical: {a: b}}, block: []}", `site.yaml:4:26: critical: want a text or a list of texts`},
		"rollout's steps":                   {"- {rollout: {steps: [{hosts: web}, {hosts: db, paralel: 1}]}, block: []}", `site.yaml:4:23: rollout: steps[1].paralel: unknown key; a group has hosts, max_parallel and max_fail`},
		"rollout's parallel steps":          {"- {rollout: {steps: [{parallel: [{hosts: web}, {max_fail: 1}]}]}, block: []}", `site.yaml:4:23: rollout: steps[0].parallel[1]: hosts is missing`},
		"rollout's parallel step with more": {"- {rollout: {steps: [{parallel: [{hosts: web}], max_fail: 1}]}, block: []}", `site.yaml:4:23: rollout: steps[0]: parallel stands alone; write the other keys into its groups`},
		"rollout's steps as a text":         {"- {rollout: {steps: [{hosts: web, max_parallel: many}]}, block: []}", `site.yaml:4:23: rollout: steps[0].max_parallel: "many" is not a number of hosts; write something like 2 or 10%`},
		"rollout's spread":                  {"- {rollout: {spread: '1 +'}, block: []}", `site.yaml:4:27: expression "1 +": unexpected token EOF`},
		"rollout's unavailable":             {"- {rollout: {max_unavailable: {by: zone}}, block: []}", `site.yaml:4:33: max_unavailable: key "limit" is required`},
		"unavailable's key":                 {"- {rollout: {max_unavailable: {by: zone, limit: 1, of: x}}, block: []}", `site.yaml:4:54: unknown key "of" in max_unavailable; known here: by, limit`},
		"second unavailable":                {"- {rollout: {max_unavailable: [{by: zone, limit: 1}, {by: rack}]}, block: []}", `site.yaml:4:56: max_unavailable: key "limit" is required`},
		"unavailable's expression":          {"- {rollout: {max_unavailable: '1 +'}, block: []}", `site.yaml:4:36: expression "1 +": unexpected token EOF`},
		"rollout's soak":                    {"- {rollout: {soak: 2 minutes}, block: []}", `site.yaml:4:24: expression "2 minutes": unexpected token Identifier("minutes")`},
		"soak without a unit":               {"- {rollout: {soak: 5}, block: []}", `site.yaml:4:22: soak: "5" is not a duration; write something like 90s or 2m`},
		"rollout's parallel":                {"- {rollout: {max_parallel: 5x}, block: []}", `site.yaml:4:31: expression "5x": bad number syntax: "5x"`},
		"no short form":                     {"- file: /a", `site.yaml:4:11: want a mapping, got "/a"`},
		"old form":                          {"- file: path=/a mode=0644", `site.yaml:4:11: arguments are written as YAML here: {path: /a, mode: 0644}`},
		"old form of a text":                {"- run: touch /a dir=/b", `site.yaml:4:10: "dir=/b" at the end would be part of the text; to pass it as an argument, write {line: touch /a, dir: /b}`},
		"empty short form":                  {"- run:", `site.yaml:4:9: key "line" is required`},
		"list as a text":                    {"- run: [ls]", `site.yaml:4:10: line: want text, got a list`},
		"listen of a task":                  {"- {file: {path: /a}, listen: x}", `site.yaml:4:24: a task with a module does not take "listen"`},
		"control of no loop":                {"- {file: {path: /a}, loop_control: {}}", `site.yaml:4:24: loop_control needs a loop`},
		"control misspelt":                  {"- {file: {path: /a}, loop: [1], loop_control: {lable: x}}", `site.yaml:4:50: unknown key "lable" in loop_control of task; did you mean "label"?`},
		"reserved loop_var":                 {"- {file: {path: /a}, loop: [1], loop_control: {loop_var: host}}", `site.yaml:4:60: the variable "host" belongs to the engine; choose another name`},
		"index_var is item":                 {"- {file: {path: /a}, loop: [1], loop_control: {index_var: item}}", `site.yaml:4:61: the variable "item" belongs to the engine; choose another name`},
		"index_var twice":                   {"- {file: {path: /a}, loop: [1], loop_control: {index_var: i, loop_var: i}}", `site.yaml:4:61: loop_var and index_var are the same`},
		"negative retries":                  {"- {file: {path: /a}, retries: -1}", `site.yaml:4:5: retries and delay cannot be negative`},
		"negative timeout":                  {"- {file: {path: /a}, timeout: -1s}", `site.yaml:4:33: timeout cannot be negative`},
		"delegated to nobody":               {"- {file: {path: /a}, delegate_to: ''}", `site.yaml:4:37: delegate_to: name a host`},
		"delegated to a list":               {"- {block: [], delegate_to: [a]}", `site.yaml:4:30: delegate_to: want a text`},
		"delegated to unknown":              {"- include_role: web\n    delegate_to: lbb1", `site.yaml:5:18: delegate_to: the inventory has no host "lbb1"; did you mean "lb1"?`},
		"delegated action":                  {"- {plan: {}, delegate_to: lb1}", `site.yaml:4:29: plan runs on the machine that deployer runs on, for the host; leave delegate_to out`},
		"loop over a mapping":               {"- {file: {path: /a}, loop: {a: b}}", `site.yaml:4:30: loop: want a list, or an expression that gives one`},
		"rescue without block":              {"- {file: {path: /a}, rescue: []}", `site.yaml:4:24: a task with a module does not take "rescue"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := compileFiles(t, &Compiler{Hosts: []string{"h1", "lb1"}},
				"site.yaml", "- hosts: all\n  handlers: [{name: reload, file: {path: /h}}]\n  tasks:\n  "+tt.tasks+"\n",
				"loop.yaml", "- include_tasks: loop.yaml\n",
				"roles/web/tasks/main.yaml", "[]\n",
				"roles/a/meta/main.yaml", "dependencies: [b]\n",
				"roles/b/meta/main.yaml", "dependencies: [{role: a}]\n")
			if err == nil {
				t.Fatal("compiled")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlayErrors(t *testing.T) {
	tests := map[string]struct{ site, want string }{
		"empty":         {"", "site.yaml:1:1: the playbook has no play"},
		"not a list":    {"hosts: all\n", "site.yaml:1:1: playbook: want a list"},
		"no hosts":      {"- name: a\n", `site.yaml:1:3: play: key "hosts" is required`},
		"unknown key":   {"- hosts: all\n  task: []\n", `site.yaml:2:3: unknown key "task" in play; did you mean "tasks"?`},
		"bad budget":    {"- hosts: all\n  max_fail: {all: some}\n", `site.yaml:2:19: max_fail.all of play: "some" is not a number of hosts; write something like 2 or 10%`},
		"strategy":      {"- hosts: all\n  strategy: lockstep\n", `site.yaml:2:13: strategy of play: want one of free, linear, got "lockstep"`},
		"forks":         {"- hosts: all\n  forks: -1\n", `site.yaml:2:10: forks: want a number of hosts, or 0 for no other limit than that of the run`},
		"serial text":   {"- hosts: all\n  serial: [1, some]\n", `site.yaml:2:15: serial: "some" is not a number of hosts; write something like 2 or 10%`},
		"serial zero":   {"- hosts: all\n  serial: 0\n", `site.yaml:2:11: serial: a batch has at least one host; leave serial out for all hosts at once`},
		"serial 0%":     {"- hosts: all\n  serial: [0%]\n", `site.yaml:2:12: serial: a batch has at least one host; leave serial out for all hosts at once`},
		"serial empty":  {"- hosts: all\n  serial: []\n", `site.yaml:2:11: serial: the list is empty; leave serial out for all hosts at once`},
		"serial map":    {"- hosts: all\n  serial: {a: 1}\n", `site.yaml:2:11: serial: want a number of hosts or a share, as in 2 or 10%`},
		"bad pattern":   {"- hosts: masters\n", `site.yaml:1:10: hosts: unknown group "masters"`},
		"bad handler":   {"- hosts: all\n  handlers: [{file: {path: /a}}]\n", "site.yaml:2:14: a handler needs a name, by which tasks notify it"},
		"handler twice": {"- hosts: all\n  handlers: [{name: a, file: {path: /a}}, {name: a, file: {path: /a}}]\n", `site.yaml:2:43: handler "a" exists already, at site.yaml:2:14`},
		"handler circle": {"- hosts: all\n  handlers:\n    - {name: a, file: {path: /a}, notify: b}\n    - {name: b, file: {path: /a}, notify: a}\n",
			"site.yaml:3:7: handlers notify each other in a circle: a -> b -> a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lib := &Compiler{Match: func(p string) ([]string, error) {
				if p != "all" {
					return nil, fmt.Errorf("unknown group %q", p)
				}
				return []string{"h1"}, nil
			}}
			_, err := compileFiles(t, lib, "site.yaml", tt.site)
			if err == nil {
				t.Fatal("compiled")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAllErrorsAtOnce: the compiler reports all errors together, in order.
func TestAllErrorsAtOnce(t *testing.T) {
	_, err := compileFiles(t, nil, "site.yaml", `
- hosts: all
  tasks:
    - file: {path: '{{ .a | nope }}', mdoe: x}
    - flie: {}
    - {file: {path: /a}, when: a ==, notify: x}
`)
	errs, ok := err.(strictyaml.Errors) //nolint:errorlint // Compile says so
	if !ok || len(errs) != 6 {
		t.Fatalf("%d errors of type %T: %v", strings.Count(fmt.Sprint(err), "\n")+1, err, err)
	}
	for i := range errs[1:] {
		if errs[i].Line > errs[i+1].Line {
			t.Errorf("not in order: %v", err)
		}
	}
}

// TestCircularNeedsBetweenPlays: circular needs between plays are found when the
// hosts of the plays are known.
func TestCircularNeedsBetweenPlays(t *testing.T) {
	const site = `
- hosts: a
  tasks: [{file: {path: /a}, needs: second}]
- hosts: b
  tasks: [{file: {path: /a}, label: second}]
`
	for hosts, circular := range map[string]bool{"same": true, "other": false} {
		lib := &Compiler{Match: func(p string) ([]string, error) {
			if hosts == "same" {
				return []string{"h1"}, nil
			}
			return []string{p}, nil
		}}
		_, err := compileFiles(t, lib, "site.yaml", site)
		if (err != nil) != circular {
			t.Errorf("%s hosts: %v", hosts, err)
		}
	}
}
