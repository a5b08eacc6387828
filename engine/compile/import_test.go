package compile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
	"deployer/engine/program"
)

func TestImportPlaybook(t *testing.T) {
	p := mustCompile(t,
		"site.yaml", `
- import_playbook: web/site.yaml
  vars: {port: 80, who: importer}
  tags: web
- name: last
  hosts: all
  tasks: [{name: c, file: {path: /c}}]
`,
		"web/site.yaml", `
- import_playbook: more.yaml
- name: web
  hosts: web
  vars: {who: play}
  tags: [own]
  tasks: [{name: a, file: {path: "{{ who }}-{{ port }}"}}, {include_tasks: b.yaml}]
`,
		"web/more.yaml", "- {name: more, hosts: all}\n",
		"web/b.yaml", "- {name: b, template: {src: b.tmpl}}\n",
		"web/templates/b.tmpl", "text",
	)
	want := `play more
flush
play end
play web
task 2.play.1 a
task 2.play.2 b
flush
play end
play last
task 3.play.1 c
flush
play end
`
	if diff := cmp.Diff(want, listing(p)); diff != "" {
		t.Error(diff)
	}
	a, b, c := p.Tasks[0], p.Tasks[1], p.Tasks[2]
	if got := render(t, a, nil).(*fileArgs).Path; got != "importer-80" {
		t.Errorf("the path is %q; the variables of the import win over the play's own", got)
	}
	if diff := cmp.Diff([]string{"web", "own"}, a.Tags); diff != "" || len(c.Tags) > 0 {
		t.Errorf("%s, %v", diff, c.Tags)
	}
	if _, err := b.Files.Template("b.tmpl"); err != nil {
		t.Error(err)
	}
}

// render returns the arguments of a task.
func render(t *testing.T, task *program.Task, base map[string]any) any {
	t.Helper()
	v := lang.NewVars(base, nil)
	if err := v.PushScope(task.Scopes, task.Refs()); err != nil {
		t.Fatal(err)
	}
	args, err := task.BuildArgs(v)
	if err != nil {
		t.Fatal(err)
	}
	return args
}

func TestImportErrors(t *testing.T) {
	for want, site := range map[string]string{
		"site.yaml:1:20: reading none.yaml: open none.yaml: file does not exist":                                                                                 "- import_playbook: none.yaml\n",
		"site.yaml:1:20: reading ../x.yaml: the path leaves a directory that is not on disk":                                                                     "- import_playbook: ../x.yaml\n",
		"site.yaml:1:20: playbooks import each other in a circle: site.yaml -> site.yaml":                                                                        "- import_playbook: site.yaml\n",
		"site.yaml:2:9: import_playbook does not support when, because playbooks are imported before any host is known; put the condition at the roles or tasks": "- import_playbook: ok.yaml\n  when: true\n",
		`site.yaml:2:3: unknown key "hosts" in import_playbook; known here: import_playbook, name, tags, vars, when`:                                             "- import_playbook: ok.yaml\n  hosts: all\n",
		`site.yaml:2:10: the variable "host" belongs to the engine; choose another name`:                                                                         "- import_playbook: ok.yaml\n  vars: {host: 1}\n",
	} {
		_, err := compileFiles(t, nil, "site.yaml", site, "ok.yaml", "- hosts: all\n")
		if err == nil || err.Error() != want {
			t.Errorf("%s\n error is %v\n want     %s", site, err, want)
		}
	}
}

func TestVarsFiles(t *testing.T) {
	t.Setenv("TOKEN_OF_TEST", "from the environment")
	lib := &Compiler{Decrypt: func(name string, data []byte) ([]byte, error) {
		if string(data) == "broken" {
			return nil, errors.New("opening " + name + ": it is not encrypted to any key of yours")
		}
		return []byte(strings.TrimPrefix(string(data), "sealed: ")), nil
	}}
	files := []string{
		"vars/a.yaml", "who: a\nfrom: a\ndeep: '{{ who }}!'\n",
		"vars/b.yaml", "who: b\ntoken: !env TOKEN_OF_TEST\nport: 80\n",
		"vars/c.yaml.age", "sealed: {password: hunter2, pin: 1234, on: true}\n",
		"vars/none.yaml", "",
		"vars/list.yaml", "[]",
		"vars/sops.yaml", "password: ENC[AES256_GCM,data:xx]\nsops:\n  mac: ENC[x]\n  version: 3.9.0\n",
		"vars/other.yaml", "sops: {mode: on}\n",
		"vars/broken.yaml.age", "broken",
	}
	compile := func(lib *Compiler, names string) (*program.Program, error) {
		return compileFiles(t, lib, append([]string{"site.yaml",
			"- hosts: all\n  vars: {who: play, from: play}\n  vars_files: " + names + "\n  tasks: [{file: {path: '{{ who }} {{ from }} {{ deep }}'}}]\n"}, files...)...)
	}
	p, err := compile(lib, "[vars/a.yaml, vars/b.yaml, vars/c.yaml.age, vars/none.yaml, vars/other.yaml]")
	if err != nil {
		t.Fatal(err)
	}
	if got := render(t, p.Tasks[0], nil).(*fileArgs).Path; got != "b a b!" {
		t.Errorf("%q: the last file wins over those before it, and over the play", got)
	}
	if diff := cmp.Diff([]string{"from the environment", "hunter2", "1234"}, p.Secrets); diff != "" {
		t.Error(diff)
	}
	for names, want := range map[string]string{
		"gone.yaml":            "site.yaml:3:15: vars_files: open gone.yaml: file does not exist",
		"[vars/list.yaml]":     "vars/list.yaml:1:1: variables must be a mapping of names to values",
		"'{{ os }}.yaml'":      "site.yaml:3:15: vars_files: the name of a file must be a constant, because the file is read before any host is known; put variables of hosts into the inventory",
		"vars/sops.yaml":       "vars/sops.yaml:3:3: vars/sops.yaml is encrypted with SOPS, which deployer does not support; encrypt it with age: sops -d vars/sops.yaml | deployer secrets encrypt - -o vars/sops.yaml.age, and remove it",
		"vars/broken.yaml.age": "site.yaml:3:15: vars_files: opening vars/broken.yaml.age: it is not encrypted to any key of yours",
		"../a.yaml":            "site.yaml:3:15: vars_files: the path leaves a directory that is not on disk",
		"{a: b}":               "site.yaml:3:15: vars_files: want a text or a list of texts",
	} {
		if _, err := compile(lib, names); err == nil || err.Error() != want {
			t.Errorf("%s\n error is %v\n want     %s", names, err, want)
		}
	}
	const want = "site.yaml:3:15: vars_files: vars/c.yaml.age is encrypted, and there is no key to decrypt it"
	if _, err := compile(nil, "vars/c.yaml.age"); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}
