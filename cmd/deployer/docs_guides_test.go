package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/fstest"

	"deployer/engine/compile"
	"deployer/engine/lang"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestGuides compiles the YAML blocks of the guides.
func TestGuides(t *testing.T) {
	t.Parallel()
	compile := func(t *testing.T, files fstest.MapFS) {
		t.Helper()
		tree := lang.Tree{Name: "guide", FS: files}
		roles := lang.Tree{Name: "guide/roles", FS: subFS(t, files)}
		c := compile.Compiler{Registry: kinds(), Roles: []lang.Tree{roles}}
		if _, err := c.Compile(tree, "playbook.yaml"); err != nil {
			t.Error(err)
		}
	}
	t.Run("from-ansible", func(t *testing.T) {
		t.Parallel()
		blocks := yamlBlocks(t, "from-ansible.md")
		if len(blocks) != 2 {
			t.Fatalf("%d playbooks, want Ansible's and ours", len(blocks))
		}
		compile(t, fstest.MapFS{"playbook.yaml": {Data: blocks[1]}})
	})
	t.Run("node-maintenance", func(t *testing.T) {
		t.Parallel()
		blocks := yamlBlocks(t, "node-maintenance.md")
		if len(blocks) != 2 {
			t.Fatalf("%d examples, want a playbook and tasks", len(blocks))
		}
		compile(t, fstest.MapFS{"playbook.yaml": {Data: blocks[0]}})
		// The tasks run where the playbook has registered a result.
		play := "- hosts: node\n  vars: {now: {reboot: {required: true}}, maintenance_hooks: []}\n  tasks:\n    - block:\n"
		compile(t, fstest.MapFS{"playbook.yaml": {Data: append([]byte(play), blocks[1]...)}})
	})
	t.Run("rollouts", func(t *testing.T) {
		t.Parallel()
		blocks := yamlBlocks(t, "rollouts.md")
		if len(blocks) < 2 {
			t.Fatalf("%d playbooks, want 2 or more", len(blocks))
		}
		for _, playbook := range blocks {
			compile(t, fstest.MapFS{"playbook.yaml": {Data: playbook}, "templates/site.conf.tmpl": {Data: []byte("server {}\n")}, "templates/limits.conf.tmpl": {Data: []byte("[Service]\n")}})
		}
	})
	t.Run("roles", func(t *testing.T) {
		t.Parallel()
		blocks := yamlBlocks(t, "roles.md")
		if len(blocks) != 3 {
			t.Fatalf("%d files, want 3", len(blocks))
		}
		handlers := []byte("- name: restart web\n  unit: {name: web.service, state: restarted}\n")
		compile(t, fstest.MapFS{"roles/web/defaults/main.yaml": {Data: blocks[0]}, "roles/web/tasks/main.yaml": {Data: blocks[1]},
			"roles/web/handlers/main.yaml": {Data: handlers}, "playbook.yaml": {Data: blocks[2]}})
	})
}

// TestExamples compiles the examples; test/e2e runs them.
func TestExamples(t *testing.T) {
	t.Parallel()
	books, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "playbook.yaml"))
	if err != nil || len(books) != 6 {
		t.Fatalf("%d examples, error %v", len(books), err)
	}
	for _, book := range books {
		dir := filepath.Dir(book)
		c := compile.Compiler{Registry: kinds()}
		program, err := c.Compile(lang.Tree{Name: dir, FS: os.DirFS(dir)}, "playbook.yaml")
		if err != nil {
			t.Error(err)
			continue
		}
		for _, task := range program.Tasks {
			if task.Name == task.Kind.Name {
				t.Errorf("%s: a task of an example has a name", task.Pos)
			}
		}
	}
}

func yamlBlocks(t *testing.T, guide string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", guide))
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for _, m := range yamlBlock.FindAllSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// subFS returns the directory of roles, which may be missing.
func subFS(t *testing.T, files fstest.MapFS) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	for name, f := range files {
		if rel, err := filepath.Rel("roles", name); err == nil && rel[0] != '.' {
			out[rel] = f
		}
	}
	return out
}
