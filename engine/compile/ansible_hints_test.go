package compile

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestAnsibleSyntaxErrors checks that errors for Ansible syntax give the place and
// the form to write.
func TestAnsibleSyntaxErrors(t *testing.T) {
	for content, want := range map[string]string{
		"  remote_user: x\n":                                                         `:2:3: unknown key "remote_user" in play: the login name is ssh.user of the inventory`,
		"  become: yes\n":                                                            `:2:11: become of play: want true or false, got "yes"; write true`,
		"  become: no\n  tasks: [{meta: noop}]\n":                                    "write false\nsite.yaml:3:18: meta: there is no noop: leave it out",
		"  max_fail_percentage: 101\n":                                               `:2:24: max_fail_percentage: want a number from 0 to 100`,
		"  max_fail: {all: 1}\n  max_fail_percentage: 10\n":                          `:3:24: max_fail_percentage: the play has max_fail already`,
		"  tasks: [{file: {path: /a}, args: {}}]\n":                                  `:2:30: unknown task keyword or module "args": the arguments stand below the module: shell: {cmd: ..., creates: ...}`,
		"  tasks: [{file: {path: /a}, async: 1}]\n":                                  `:2:30: unknown task keyword or module "async": use timeout: 10m`,
		"  tasks: [{meta: end_play, when: facts.cpus > 1}]\n":                        `:2:11: meta: end_play: the condition "facts.cpus > 1" reads facts, which may differ from host to host; use meta: end_host`,
		"  tasks: [{meta: end_world}]\n":                                             `:2:18: meta of task: want one of flush_handlers, end_host, end_play, got "end_world"`,
		"  tasks: [{include_role: {name: web, tasks_from: x}}]\n":                    `:2:38: include_role takes no tasks_from: write include_role: NAME, with vars, when and tags beside it`,
		"  tasks: [{file: {path: '{{ inventory_hostname }}'}}]\n":                    `:2:29: template {{ inventory_hostname }}: unknown name "inventory_hostname"; deployer calls it host.name`,
		"  tasks: [{file: {path: \"{{ lookup('pipe', 'x') }}\"}}]\n":                 `there is no lookup "pipe"; there are file, env, password and template; a task command with delegate_to: localhost and register`,
		"  tasks: [{file: {path: '{{ .hosts[0] }}'}}]\n":                             `:2:29: template: variables have no dot in texts: write {{ hosts[0] }}`,
		"  tasks: [{file: {path: '{{ x is here }}', mode: '1'}, when: a is file}]\n": "site.yaml:2:31: template {{ x is here }}: unexpected token Identifier(\"is\"); there is no test \"here\"\nsite.yaml:2:64: expression \"a is file\": unexpected token Identifier(\"is\"); `is file` looks at the machine of Ansible",
		"  tasks: [{file: {path: '{% if a %}b{% endif %}'}}]\n":                      `:2:26: template: statements stand in template files only; a text has {{ CONDITION ? A : B }}`,
		"  tasks: [{file: {path: /a}, loop: '{{ a | default([]) }}'}]\n":             `:2:36: loop: want an expression without {{ }}; write a ?? []`,
		"  tasks: [{file: {path: /a}, with_items: '{{ a.b }}'}]\n":                   `without {{ }}; write a.b`,
		"  tasks: [{file: {path: /a}, when: ansible_os_family == 'Debian'}]\n":       `unknown name "ansible_os_family"; write facts.os_family == "debian"`,
		"  tasks: [{file: {path: /a}, when: '{{ a }}'}]\n":                           `without {{ }}; write a`,
		"  tasks: [{nothing: {x: ['{{ a ~ b }}']}, when: a ~ b}]\n":                  `; write string(a) + string(b)`,
		"  tasks: [{ansible.builtin.file: {path: '{{ a ~ b }}', nope: 1}}]\n":        "; write string(a) + string(b)\nsite.yaml:2:56: unknown key \"nope\"",
		"  tasks: [{import_tasks: more.yaml}]\n":                                     "more.yaml:1:4: unknown task keyword or module \"nothing\"\nsite.yaml:2:12: unknown task keyword or module \"import_tasks\"",
		"  tasks: [{file: {path: /a}, timeout: 10}]\n":                               `:2:39: timeout of task: want a duration such as 500ms, 10s or 1h30m, got "10"; write 10s`,
	} {
		_, err := compileFiles(t, nil, "site.yaml", "- hosts: all\n"+content, "roles/web/tasks/main.yaml", "[]", "more.yaml", "- {nothing: {}}")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n error is %v\n want     %s", content, err, want)
		}
	}
}

// TestAnsibleFormsThatWork checks forms of Ansible that have the same meaning in
// deployer.
func TestAnsibleFormsThatWork(t *testing.T) {
	p := mustCompile(t, "site.yaml", `
- hosts: all
  gather_facts: false
  tasks:
    - include_role: {name: web}
    - include_tasks: {file: more.yaml}
`, "more.yaml", "- file: {path: /more}\n", "roles/web/tasks/main.yaml", "- file: {path: /role}\n")
	if len(p.Tasks) != 2 {
		t.Errorf("%d tasks", len(p.Tasks))
	}
}

// TestAnsibleKeywordsAreNotKeywords: the keywords of Ansible for which errors give
// advice are no keywords of deployer.
func TestAnsibleKeywordsAreNotKeywords(t *testing.T) {
	for word := range ansibleTaskKeywords {
		if slices.Contains(keywords(reflect.TypeFor[rawTask]()), word) {
			t.Errorf("%s is a keyword", word)
		}
	}
	for word := range ansiblePlayKeywords {
		if slices.Contains(keywords(reflect.TypeFor[rawPlay]()), word) {
			t.Errorf("%s is a keyword", word)
		}
	}
}
