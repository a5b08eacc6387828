package project_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/project"
)

func TestInputsOfPlaybook(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("inventory.yaml", "hosts: {web1: {address: 10.0.0.1}, web2: {address: 10.0.0.2}, db: {address: 10.0.0.3}}\ngroups: {web: {hosts: [web1, web2]}}\n")
	write("site.yaml", `
- name: web servers
  hosts: web
  vars_files: [vars/web.yaml]
  vars_prompt: [{name: release, prompt: which release}]
  roles: [nginx]
  tasks:
    - {name: banner, copy: {src: banner.txt, dest: /etc/banner}}
    - {name: page, template: {src: "{{ page }}.j2", dest: /srv/page}}
`)
	write("group_vars/web.yaml", "color: green\n")
	write("vars/web.yaml", "page: front\n")
	write("banner.txt", "welcome\n")
	write("unused.txt", "nobody reads this\n")
	write("other.yaml", "- {name: other, hosts: db, tasks: []}\n")
	write("templates/front.j2", "hello\n")
	write("roles/nginx/tasks/main.yaml", "- {name: configuration, copy: {src: nginx.conf, dest: /etc/nginx.conf}, notify: restart}\n")
	write("roles/nginx/handlers/main.yaml", "- {name: restart, service: {name: nginx, state: restarted}}\n")
	write("roles/nginx/files/nginx.conf", "user nginx;\n")
	write("roles/unused/tasks/main.yaml", "- {name: never, command: {cmd: 'true'}}\n")

	inputs := func() *project.PlaybookInputs {
		t.Helper()
		in, err := project.ReadPlaybookInputs(filepath.Join(dir, "inventory.yaml"), filepath.Join(dir, "site.yaml"), project.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	first := inputs()
	var files []string
	for path := range first.Files {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, rel)
	}
	slices.Sort(files)
	want := []string{"banner.txt", "group_vars/web.yaml", "inventory.yaml", "roles/nginx/files/nginx.conf", "roles/nginx/handlers/main.yaml", "roles/nginx/tasks/main.yaml", "site.yaml", "templates/front.j2", "vars/web.yaml"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"web1", "web2"}, first.Hosts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"release"}, first.Prompts); diff != "" {
		t.Error(diff)
	}
	write("unused.txt", "still nobody\n")
	if !maps.Equal(first.Files, inputs().Files) {
		t.Error("a file that the playbook does not name is one of its inputs")
	}
	for _, changed := range want {
		before := inputs().Files
		data, err := os.ReadFile(filepath.Join(dir, changed))
		if err != nil {
			t.Fatal(err)
		}
		write(changed, string(data)+"# changed\n")
		if maps.Equal(before, inputs().Files) {
			t.Errorf("a change of %s is not seen", changed)
		}
	}
	if _, err := project.ReadPlaybookInputs(filepath.Join(dir, "inventory.yaml"), filepath.Join(dir, "missing.yaml"), project.Options{}); err == nil || !strings.Contains(err.Error(), "missing.yaml") {
		t.Errorf("got %v", err)
	}
}
