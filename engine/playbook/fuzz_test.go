package playbook

import (
	"errors"
	"strings"
	"testing"

	"deployer/strictyaml"
)

// FuzzCompile: whatever stands in a playbook, there is a program or an error
// with its place, and never a panic. Programs are walked and rendered.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"- hosts: all\n  tasks: [{file: {path: '{{ .a }}'}, when: a == 1, loop: [1], register: x, notify: h}]\n  handlers: [{name: h, file: {path: /a}}]\n",
		"- hosts: all\n  vars: {a: '{{ .b }}', b: [1, {c: d}]}\n  roles: [web, {role: web, vars: {x: 1}, when: a}]\n",
		"- hosts: all\n  tasks:\n    - block: [{plan: {}}]\n      rescue: [{template: {src: x}}]\n      always: [{meta: flush_handlers}]\n      throttle: n / 2\n      label: l\n    - {file: {path: a}, needs: [{label: l, count: 1}], barrier: true, until: result.x, retries: 1}\n",
		"- hosts: all\n  max_fail: {all: 10%}\n  tasks: [{include_tasks: more.yaml}, {include_role: web}]\n",
		"- &a {hosts: all}\n- {<<: *a, name: b}\n",
		"- hosts: all\n  tasks: [{file: {path: \"{{ range .x }}{{ end }}\", rules: [{port: '{{ 1 }}'}], value: {a: ['{{ . }}']}}}]\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, site string) {
		// Generators in templates and expressions can ask for endless memory;
		// that is the author's own machine, and not what is tested here.
		for _, big := range []string{"repeat", "..", "until", "seq", "gen", "rand", "bcrypt", "derive", "htpasswd", "encrypt"} {
			if strings.Contains(site, big) {
				return
			}
		}
		p, err := compileFiles(t, nil, "site.yaml", site, "more.yaml", "[]", "roles/web/tasks/main.yaml", "[]")
		if err != nil {
			var errs strictyaml.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		for _, task := range p.Tasks {
			v := NewVars(vars(), nil)
			mark := v.Mark()
			if v.Enter(task.Scopes, task.Refs()) == nil {
				_, _ = task.Build(v)
				_, _, _ = task.Applies(v)
				if task.Loop != nil {
					_, _ = task.Items(v)
				}
			}
			v.Leave(mark)
		}
	})
}
