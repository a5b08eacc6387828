package compile

import (
	"os"
	"path/filepath"
	"testing"

	"deployer/engine/lang"
	"deployer/strictyaml"
)

// TestArgumentsThatAreKnownBeforeTheRun: values of variables that no host can change are
// checked by the rules of the arguments, with the host and the place in the task.
func TestArgumentsThatAreKnownBeforeTheRun(t *testing.T) {
	for task, want := range map[string]string{
		"file: {path: /x, mode: '{{ m }}'}":                                    `site.yaml:4:30: template {{ m }}: the number 640 is the mode 1200`,
		"file: {path: /x, wait: '{{ w }}'}":                                    `want a duration such as 500ms, 10s or 1h30m, got "10"; write 10s (on h1)`,
		"{file: {path: /x, mode: '{{ item.mode }}'}, loop: users}":             `want an octal mode such as "0644", got "rw" (on h1)`,
		"{file: {path: /x, mode: '{{ item }}'}, loop: none}":                   "",
		"{file: {path: /x, mode: '{{ m }}'}, when: facts.os == 'debian'}":      "",
		"{file: {path: /x, mode: '{{ r.stdout }}'}}":                           "",
		"{file: {path: /x, mode: '{{ facts.x }}'}}":                            "",
		"{file: {path: /x, mode: '{{ m }}'}, ignore_errors: true}":             "",
		"{file: {path: /x, mode: '{{ ok }}', wait: '{{ ok == 1 ? 1 : 2 }}s'}}": "",
	} {
		lib := &Compiler{
			Vars: func(string) map[string]any {
				return map[string]any{"w": 10, "users": []any{map[string]any{"mode": "0600"}, map[string]any{"mode": "rw"}}, "none": []any{}, "ok": "0644"}
			},
			Match:    func(string) ([]string, error) { return []string{"h1", "h2"}, nil },
			RunHosts: []string{"h1", "h2"},
		}
		_, err := compileFiles(t, lib, "site.yaml", "- hosts: all\n  vars: {m: 640}\n  tasks:\n    - "+task+"\n    - {run: a, register: r}\n")
		requireOneError(t, err, want)
	}
}

// TestTemplateFilesOfTasksThatMayNotRun: a broken template file is an error whatever the task's
// condition, loop or block; a missing one unless there is a condition.
func TestTemplateFilesOfTasksThatMayNotRun(t *testing.T) {
	for task, want := range map[string]string{
		"{template: {src: bad.tmpl}, when: on}":             "bad.tmpl",
		"{template: {src: gone.tmpl}, loop: none}":          `no template "gone.tmpl"`,
		"{block: [{template: {src: bad.tmpl}}], when: on}":  "bad.tmpl",
		"{template: {src: bad.tmpl}, loop: none}":           "bad.tmpl",
		"{template: {src: good.tmpl}, when: on}":            "",
		"{template: {src: gone.tmpl}, ignore_errors: true}": "",
		"{template: {src: '{{ item }}.tmpl'}, loop: none}":  "",
	} {
		lib := &Compiler{
			Vars:     func(string) map[string]any { return map[string]any{"on": false, "none": []any{}} },
			Match:    func(string) ([]string, error) { return []string{"h1"}, nil },
			RunHosts: []string{"h1"},
		}
		_, err := compileFiles(t, lib, "site.yaml", "- hosts: all\n  tasks:\n    - "+task+"\n", "templates/bad.tmpl", "a\n{{ if x }}\n", "templates/good.tmpl", "{{ .nosuch }}")
		requireOneError(t, err, want)
	}
}

// TestChecksEvaluateNoLookups: checks before the run neither make nor read a file for a lookup,
// in the arguments of a task, the name of its template file, the items of its loop, or a
// variable of a play or of the inventory that one of these reads.
func TestChecksEvaluateNoLookups(t *testing.T) {
	for task, want := range map[string]string{
		"file: {path: /x, mode: \"{{ lookup('password', store) }}\"}":                       "",
		"file: {path: /x, mode: '{{ of_play }}'}":                                           "",
		"file: {path: /x, mode: '{{ of_host }}'}":                                           "",
		"template: {src: \"{{ lookup('password', store) }}.tmpl\"}":                         "",
		"{file: {path: /x, mode: '{{ item }}'}, loop: \"q('password', store)\"}":            "",
		"{file: {path: /x, mode: '{{ item }}'}, loop: \"['a', of_host]\"}":                  "",
		"file: {path: \"{{ lookup('template', 'good.tmpl') }}\", mode: '{{ wrong }}'}":      "got \"rw\"",
		"file: {path: /x, mode: \"{{ true ? 'rw' : lookup('password', store) }}\"}":         "got \"rw\"",
		"file: {path: /x, mode: \"{{ lookup('template', 'of_lookup.tmpl') }}{{ wrong }}\"}": "",
	} {
		store := filepath.Join(t.TempDir(), "made")
		inventory := lang.NewHostVarCompiler()
		ofHost, err := inventory.Compile("{{ lookup('password', store) }}", func() strictyaml.Pos { return strictyaml.Pos{} })
		if err != nil {
			t.Fatal(err)
		}
		lib := &Compiler{
			Vars:     func(string) map[string]any { return map[string]any{"store": store, "of_host": ofHost, "wrong": "rw"} },
			Match:    func(string) ([]string, error) { return []string{"h1"}, nil },
			RunHosts: []string{"h1"},
		}
		_, err = compileFiles(t, lib, "site.yaml", "- hosts: all\n  vars: {of_play: \"{{ lookup('password', store) }}\"}\n  tasks:\n    - "+task+"\n",
			"templates/good.tmpl", "good", "templates/of_lookup.tmpl", "{{ .of_host }}")
		requireOneError(t, err, want)
		if _, err := os.Stat(store); err == nil {
			t.Errorf("%s: a check has made the file of the password", task)
		}
	}
}
