package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestUndefinedNamesHavePositions checks that an undefined name is an error with its
// position, in every place of an expression or template.
func TestUndefinedNamesHavePositions(t *testing.T) {
	s := newTestSite(t, 1, map[string]string{
		"templates/a.tmpl":           "first line\n  {{ if true }}{{ .nothing }}{{ end }}\n",
		"templates/outer.tmpl":       "\n\n{{ include \"a.tmpl\" . }}\n",
		"roles/r/tasks/main.yaml":    "- file: {path: /r, content: '{{ of_role }}'}\n",
		"roles/r/defaults/main.yaml": "of_role: 'x {{ nothing }}'\n",
		"files/plain":                "x\n",
	})
	for what, tt := range map[string]struct{ play, place string }{
		"argument":            {"  tasks:\n    - file: {path: /x, content: 'a {{ nothing }}'}\n", "site.yaml:3:39: "},
		"argument of several": {"  tasks:\n    - file:\n        path: /x\n        content: |\n          a\n          b {{ nothing }}\n", "site.yaml:7:16: "},
		"field":               {"  vars: {v: {a: 1}}\n  tasks:\n    - file: {path: /x, content: '{{ v.nothing }}'}\n", "site.yaml:4:"},
		"when":                {"  tasks:\n    - file: {path: /x}\n      when: 1 == nothing\n", "site.yaml:4:18: "},
		"list of conditions":  {"  tasks:\n    - file: {path: /x}\n      when:\n        - true\n        - nothing\n", "site.yaml:6:11: "},
		"loop":                {"  tasks:\n    - file: {path: '{{ item }}'}\n      loop: nothing\n", "site.yaml:4:13: "},
		"loop, items":         {"  tasks:\n    - file: {path: '{{ item }}'}\n      loop: ['{{ nothing }}']\n", "site.yaml:4:"},
		"label of a loop":     {"  tasks:\n    - file: {path: '/{{ item }}'}\n      loop: [a]\n      loop_control: {label: '{{ nothing }}'}\n", "site.yaml:5:"},
		"until":               {"  tasks:\n    - command: 'true'\n      until: nothing\n      delay: 0s\n", "site.yaml:4:14: "},
		"changed_when":        {"  tasks:\n    - command: 'true'\n      changed_when: nothing\n", "site.yaml:4:21: "},
		"failed_when":         {"  tasks:\n    - command: 'true'\n      failed_when: result.nothing\n", "site.yaml:4:"},
		"throttle":            {"  tasks:\n    - command: 'true'\n      throttle: nothing\n", "site.yaml:4:17: "},
		"name":                {"  tasks:\n    - name: 'do {{ nothing }}'\n      command: 'true'\n", "site.yaml:3:"},
		"name of a handler":   {"  tasks:\n    - command: 'true'\n      notify: h\n  handlers:\n    - name: h\n      command: 'echo {{ nothing }}'\n", "site.yaml:7:"},
		"when of a handler":   {"  tasks:\n    - command: 'true'\n      notify: h\n  handlers:\n    - name: h\n      command: 'true'\n      when: nothing\n", "site.yaml:8:13: "},
		"delegate_to":         {"  tasks:\n    - command: 'true'\n      delegate_to: '{{ nothing }}'\n", "site.yaml:4:"},
		"become_user":         {"  tasks:\n    - command: 'true'\n      become_user: '{{ nothing }}'\n", "site.yaml:4:"},
		"environment":         {"  environment: {A: '{{ nothing }}'}\n  tasks:\n    - command: 'true'\n", "site.yaml:2:"},
		"environment of task": {"  tasks:\n    - command: 'true'\n      environment:\n        A: '{{ nothing }}'\n", "site.yaml:5:"},
		"vars of a play":      {"  vars: {v: '{{ nothing }}'}\n  tasks:\n    - file: {path: '/{{ v }}'}\n", "site.yaml:2:"},
		"vars of a task":      {"  tasks:\n    - file: {path: '/{{ v }}'}\n      vars:\n        v: {a: ['{{ nothing }}']}\n", "site.yaml:5:"},
		"when of a block":     {"  tasks:\n    - block: [{command: 'true'}]\n      when: nothing\n", "site.yaml:4:13: "},
		"throttle of a block": {"  tasks:\n    - block: [{command: 'true'}]\n      throttle: nothing\n", "site.yaml:4:17: "},
		"when of a role":      {"  roles: [{role: r, when: nothing}]\n", "site.yaml:2:27: "},
		"defaults of a role":  {"  roles: [r]\n", "roles/r/defaults/main.yaml:1:"},
		"when of an include":  {"  tasks:\n    - {include_role: r, when: nothing}\n", "site.yaml:3:31: "},
		"template file":       {"  tasks:\n    - template: {src: a.tmpl, dest: /x}\n", "templates/a.tmpl:2:19: "},
		"included template":   {"  tasks:\n    - template: {src: outer.tmpl, dest: /x}\n", "templates/a.tmpl:2:19: "},
		"name of a template":  {"  tasks:\n    - template: {src: '{{ nothing }}', dest: /x}\n", "site.yaml:3:"},
		"value with its type": {"  tasks:\n    - debug: {value: '{{ nothing }}'}\n", "site.yaml:3:"},
		"rescue":              {"  tasks:\n    - block: [{fail: {msg: x}}]\n      rescue: [{command: 'echo {{ nothing }}'}]\n", "site.yaml:4:"},
	} {
		s.write("site.yaml", "- hosts: all\n"+tt.play)
		var output bytes.Buffer
		code := run(t.Context(), []string{"run", "site.yaml"}, strings.NewReader(""), &output, &output)
		if all := output.String(); code == exitOK || !strings.Contains(all, tt.place) || !strings.Contains(all, `unknown name "nothing"`) {
			t.Errorf("%s: the error has no %q:\n%s", what, tt.place, all)
		}
	}
}
