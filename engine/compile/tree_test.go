package compile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/lang"
)

// onDisk writes files below a directory.
func onDisk(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFilesOutsideThePlaybook checks that shared files beside the directory of the playbook
// are found, and files that they include.
func TestFilesOutsideThePlaybook(t *testing.T) {
	dir := onDisk(t, map[string]string{
		"site/main.yaml": `
- import_playbook: ../common/base.yaml
- hosts: all
  vars_files: [../common/vars.yaml]
  tasks:
    - include_tasks: ../common/tasks/two.yaml
    - file: {path: "{{ from }}"}
- import_playbook: ABSOLUTE/common/base.yaml
`,
		"common/base.yaml":      "- hosts: all\n  vars_files: [vars.yaml]\n  tasks: [{include_tasks: tasks/two.yaml}]\n",
		"common/vars.yaml":      "from: /shared\n",
		"common/tasks/two.yaml": "- file: {path: /a}\n- include_tasks: ../../other/three.yaml\n",
		"other/three.yaml":      "- file: {path: /b}\n",
	})
	main := filepath.Join(dir, "site/main.yaml")
	text, err := os.ReadFile(main)
	if err == nil {
		err = os.WriteFile(main, []byte(strings.ReplaceAll(string(text), "ABSOLUTE", dir)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	var opened []string
	lib := &Compiler{Registry: registry(), Outside: func(d string) fs.FS { opened = append(opened, filepath.Clean(d)); return os.DirFS(d) }}
	p, err := lib.Compile(lang.Tree{Name: "site", FS: os.DirFS(dir + "/site"), Dir: dir + "/site"}, "main.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, task := range p.Tasks {
		got = append(got, task.Pos.File+" "+render(t, task, nil).(*fileArgs).Path)
	}
	once := []string{"common/tasks/two.yaml /a", "other/three.yaml /b"}
	absolute := []string{dir + "/common/tasks/two.yaml /a", dir + "/other/three.yaml /b"}
	if diff := cmp.Diff(slices.Concat(once, once, []string{"site/main.yaml /shared"}, absolute), got); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(opened, dir+"/common") || !slices.Contains(opened, dir+"/other") {
		t.Errorf("opened %v", opened)
	}
}

// TestTemplatesOutsideThePlaybook: templates and files, which are read when a task
// executes, are found there too.
func TestTemplatesOutsideThePlaybook(t *testing.T) {
	dir := onDisk(t, map[string]string{"common/motd.tmpl": "{{ who }}", "common/tree/x": "x", "site/files/y": "y"})
	tree := lang.Tree{Name: "site", FS: os.DirFS(dir + "/site"), Dir: dir + "/site"}
	f := lang.NewFiles("the playbook", "", os.DirFS, lang.SearchDir{Tree: tree, Dir: "templates", Templates: true}, lang.SearchDir{Tree: tree, Dir: "files", Files: true}, lang.SearchDir{Tree: tree, Dir: ".", Templates: true, Files: true})
	tpl, err := f.Template("../common/motd.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := tpl.Text(map[string]any{"who": "me"}); err != nil || text != "me" {
		t.Errorf("%q, %v", text, err)
	}
	if data, err := f.File("../../common/tree/x"); err != nil || string(data) != "x" { // from files/
		t.Errorf("%q, %v", data, err)
	}
	entries, err := f.Walk("../common")
	if err != nil || len(entries) != 3 || entries[2].Name != "tree/x" {
		t.Errorf("%+v, %v", entries, err)
	}
	if entries, err := f.Walk("../.."); err != nil || !slices.ContainsFunc(entries, func(e engine.FileEntry) bool { return e.Name == "common/tree/x" }) {
		t.Errorf("%+v, %v", entries, err)
	}
	_, err = f.File("../none")
	if want := `the playbook has no file "../none"; looked for [site/none none]`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
