package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestCheckFindsMissingDirectories checks that a check fails for a missing directory
// exactly where the run fails.
func TestCheckFindsMissingDirectories(t *testing.T) {
	const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	s := newTestSite(t, 1, map[string]string{"templates/a.tmpl": "x\n", "files/b": "x\n", "files/tree/sub/c": "x\n"})
	root := s.fleet.Hosts[0].Root
	for _, dir := range []string{"/there", "/data"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"/linked", "/other"} {
		if err := os.Symlink("data", root+link); err != nil {
			t.Fatal(err)
		}
	}
	const no = "directory /no does not exist: make it with the directory module first"
	for what, tt := range map[string]struct{ tasks, fails string }{ // empty when the check succeeds
		"file":       {"- file: {path: /no/x, content: x}", no},
		"template":   {"- template: {src: a.tmpl, dest: /no/x}", no},
		"copy":       {"- copy: {src: b, dest: /no/x}", no},
		"yaml_file":  {"- yaml_file: {dest: /no/x, value: {a: 1}}", no},
		"line":       {"- line: {path: /no/x, line: x, create: true}", no},
		"text_block": {"- text_block: {path: /no/x, block: x, create: true}", no},
		"link":       {"- link: {path: /no/x, to: /etc}", no},
		"archive":    {"- archive: {path: /there, dest: /no/x.tar.gz}", no},
		"download":   {"- download: {url: 'http://127.0.0.1:9/x', dest: /no/x, sha256: " + sum + "}", no},
		"a loop":     {"- file: {path: '{{ item }}', content: x}\n  loop: [/there/x, /no/x]", no},
		"file in a missing directory of a missing directory":                   {"- file: {path: /no/a/x, content: x}", "directory /no/a does not exist"},
		"file in an existing directory":                                        {"- file: {path: /there/x, content: x}", ""},
		"a directory tree":                                                     {"- copy: {src: tree, dest: /no}", ""},
		"a directory":                                                          {"- directory: {path: /no/a}", ""},
		"directory that an earlier task creates":                               {"- directory: {path: /no}\n- file: {path: /no/x, content: x}", ""},
		"directory whose child an earlier task creates":                        {"- directory: {path: /no/a}\n- file: {path: /no/x, content: x}", ""},
		"missing directory inside of a directory that an earlier task creates": {"- directory: {path: /yes}\n- file: {path: /yes/no/x, content: x}", "directory /yes/no does not exist"},
		"directory that an earlier task creates through a link":                {"- directory: {path: /linked/no}\n- file: {path: /other/no/x, content: x}", ""},
		"file behind a link that an earlier task creates":                      {"- link: {path: /to, to: /data}\n- file: {path: /to/x, content: x}", ""},
		"directory that a copied tree creates":                                 {"- copy: {src: tree/, dest: /no}\n- file: {path: /no/sub/x, content: x}", ""},
		"directory that a command may create":                                  {"- command: 'true'\n- file: {path: /no/x, content: x}", ""},
		"directory after a command with changed_when: false":                   {"- {command: 'true', changed_when: false}\n- file: {path: /no/x, content: x}", ""},
		"directory that a new user may have":                                   {"- user: {name: joe}\n- file: {path: /no/x, content: x}", ""},
		"directory after a task whose condition is unknown":                    {"- {file: {path: /there/y, content: x}, when: not run.check}\n- file: {path: /no/x, content: x}", ""},
		"directory after a delegated task":                                     {"- {file: {path: /there/y, content: x}, delegate_to: n001}\n- file: {path: /no/x, content: x}", ""},
		"missing directory on the delegate":                                    {"- {file: {path: /no/x, content: x}, delegate_to: n001}", ""},
		"task that depends on the result of an unknown task":                   {"- {file: {path: /there/y, content: x}, register: r}\n- {file: {path: /no/x, content: x}, when: r.changed}", ""},
		"rescued": {"- block: [file: {path: /no/x, content: x}]\n  rescue: [directory: {path: /no}]", ""},
		"ignored": {"- {file: {path: /no/x, content: x}, ignore_errors: true}\n- file: {path: /there/x, content: x}", ""},
	} {
		s.write("site.yaml", "- hosts: all\n  tasks:\n    "+strings.ReplaceAll(tt.tasks, "\n", "\n    ")+"\n")
		var output bytes.Buffer
		code := run(t.Context(), []string{"run", "site.yaml", "--check"}, strings.NewReader(""), &output, &output)
		if all := output.String(); (code != exitOK) != (tt.fails != "") || !strings.Contains(all, tt.fails) {
			t.Errorf("%s: exit code %d, want %q:\n%s", what, code, tt.fails, all)
		}
	}
	for what, task := range map[string]string{"file": "file: {path: /no/x, content: x}", "link": "link: {path: /no/x, to: /etc}"} {
		s.write("site.yaml", "- hosts: all\n  tasks: ["+task+"]\n")
		var output bytes.Buffer
		run(t.Context(), []string{"run", "site.yaml"}, strings.NewReader(""), &output, &output)
		if !strings.Contains(output.String(), strings.Replace(no, "/no", root+"/no", 1)) {
			t.Errorf("%s: the run says something else:\n%s", what, output.String())
		}
	}
}
