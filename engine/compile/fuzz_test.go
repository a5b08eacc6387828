package compile

import (
	"errors"
	"strings"
	"testing"

	"deployer/engine/lang"
	"deployer/strictyaml"
)

// FuzzCompile: any text compiles to a program or returns an error with its place, and
// never panics. Programs are walked and rendered.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"- hosts: all\n  tasks: [{file: {path: '{{ a }}'}, when: a == 1, loop: [1], register: x, notify: h}]\n  handlers: [{name: h, file: {path: /a}}]\n",
		"- hosts: all\n  vars: {a: '{{ b }}', b: [1, {c: d}]}\n  roles: [web, {role: web, vars: {x: 1}, when: a}]\n",
		"- hosts: all\n  tasks:\n    - block: [{plan: {}}]\n      rescue: [{template: {src: x}}]\n      always: [{meta: flush_handlers}]\n      throttle: n / 2\n      label: l\n    - {file: {path: a}, needs: [{label: l, count: 1}], barrier: true, until: result.x, retries: 1}\n",
		"- hosts: all\n  max_fail: {all: 10%}\n  tasks: [{include_tasks: more.yaml}, {include_role: web}]\n",
		"- &a {hosts: all}\n- {<<: *a, name: b}\n",
		"- hosts: all\n  tasks: [{file: {path: \"{{ range .x }}{{ end }}{{ x | map(attribute='a') | join(',') }}\", rules: [{port: '{{ 1 }}'}], value: {a: ['{{ $env }}']}}}]\n",
		"- hosts: all\n  serial: [1, 30%]\n  any_errors_fatal: true\n  force_handlers: true\n  forks: 2\n  strategy: linear\n  become: false\n  environment: {A: '{{ b }}'}\n  tasks: [{file: {path: a}, notify: web}]\n  handlers: [{name: h, listen: [web, w], file: {path: a}}]\n",
		"- import_playbook: more.yaml\n  vars: {a: 1}\n  tags: [x]\n- hosts: all\n  vars_files: [vars.yaml, vars.yaml.age]\n  tasks: [{file: {path: '{{ v }}'}}]\n",
		"- hosts: all\n  tasks:\n    - {file: {path: '{{ it.a }}'}, loop: list, loop_control: {loop_var: it, index_var: i, label: '{{ it }}'}, delegate_to: '{{ d }}', run_once: true}\n    - block: [{file: {path: a}, become_user: '{{ u }}'}]\n      environment: {B: c}\n      delegate_to: localhost\n      become: true\n",
		"- hosts: all\n  tasks: [{command: uptime -p}, {shell: [a, b]}, {file: /a mode=1}, {include_role: {name: web}}, {include_tasks: {file: ../more.yaml}}, {meta: end_host}, {args: {}, with_items: []}]\n",
		"- hosts: all\n  tasks:\n    - rollout: {canary: [all], max_parallel: n * 2, when: a}\n      pre_tasks: [{file: {path: a}, register: x}, {block: [{meta: flush_handlers}], rescue: [{file: {path: b}}]}]\n      block: [{file: {path: '{{ x }}'}}]\n      post_tasks: [{file: {path: a}, when: x.changed}]\n      always: []\n",
		"- hosts: all\n  remote_user: x\n  vars_prompt: []\n  tasks: [{file: {path: '{{ x | default([]) }}'}, when: r is defined and 'a' in r, async: 1}]\n",
		"- hosts: all\n  tasks: [{file: {path: '{{ a if b is defined else c }}'}, when: r is not failed and x is version('1', '<'), loop: 'a if b is in [c] else []'}]\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, site string) {
		// Generators in templates and expressions can request endless memory; this
		// only harms the author's own machine and is not tested here.
		for _, big := range []string{"repeat", "..", "until", "seq", "gen", "rand", "bcrypt", "derive", "htpasswd", "encrypt", "lookup", "query", "q("} {
			if strings.Contains(site, big) {
				return
			}
		}
		p, err := compileFiles(t, nil, "site.yaml", site, "more.yaml", "[]", "roles/web/tasks/main.yaml", "[]",
			"vars.yaml", "v: '{{ w }}'\nw: !secret x\n", "vars.yaml.age", "{}")
		if err != nil {
			var errs strictyaml.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		for _, task := range p.Tasks {
			v := lang.NewVars(vars(), nil)
			mark := v.Depth()
			if v.PushScope(task.Scopes, task.Refs()) == nil {
				_, _ = task.BuildArgs(v)
				_, _, _ = task.Applies(v)
				if task.Loop != nil {
					_, _ = task.Items(v)
				}
			}
			v.PopTo(mark)
		}
	})
}
