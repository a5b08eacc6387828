package tasks_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"deployer/ansible"
	"deployer/engine"
	"deployer/engine/compile"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/tasks"
	"deployer/tasks/control"
)

// TestExamplesCompile compiles the example of every kind as the tasks of a playbook.
func TestExamplesCompile(t *testing.T) {
	t.Parallel()
	registry := engine.NewRegistry(tasks.Modules(), control.General(), control.Actions())
	for name, kind := range registry {
		if kind.Example == "" {
			t.Errorf("%s has no example: add tasks/examples/%s.yaml", name, name)
			continue
		}
		play := "- hosts: all\n  tasks:\n    " + strings.ReplaceAll(kind.Example, "\n", "\n    ")
		library := &compile.Compiler{Registry: registry}
		prog, err := library.Compile(lang.Tree{Name: name, FS: fstest.MapFS{"example.yaml": {Data: []byte(play)}}}, "example.yaml")
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if !slices.ContainsFunc(prog.Tasks, func(task *program.Task) bool { return task.Kind.Name == name }) {
			t.Errorf("the example of %s does not use it", name)
		}
	}
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		if _, ok := registry[strings.TrimSuffix(filepath.Base(file), ".yaml")]; !ok {
			t.Errorf("tasks/%s is the example of no kind", file)
		}
	}
}

// TestReplacementsOfAnsibleNamesExist: the replacement for a name of Ansible is a module
// or a keyword of tasks or plays.
func TestReplacementsOfAnsibleNamesExist(t *testing.T) {
	t.Parallel()
	registry := engine.NewRegistry(tasks.Modules(), control.General(), control.Actions())
	for theirs, ours := range ansible.ModuleNames() {
		word := ours[:strings.IndexFunc(ours+".", func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })]
		if _, ok := registry[word]; ok {
			continue
		}
		inTask := compiles(registry, "- {hosts: all, tasks: [{debug: {msg: x}, "+word+": x}]}")
		inPlay := compiles(registry, "- {hosts: all, "+word+": [x]}")
		if strings.Contains(inTask, "unknown") && strings.Contains(inPlay, "unknown") {
			t.Errorf("the replacement of %s, %q, begins with no module or keyword: %s", theirs, ours, inTask)
		}
		if _, ok := registry[theirs]; ok {
			t.Errorf("%s is a name of deployer, and has the replacement %q", theirs, ours)
		}
	}
}

// compiles returns the errors of a playbook.
func compiles(registry engine.Registry, text string) string {
	_, err := (&compile.Compiler{Registry: registry}).Compile(lang.Tree{FS: fstest.MapFS{"site.yaml": {Data: []byte(text)}}}, "site.yaml")
	return fmt.Sprint(err)
}
