package tasks_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"deployer/engine"
	"deployer/engine/playbook"
	"deployer/tasks"
	"deployer/tasks/control"
	"deployer/tasks/examples"
)

// TestExamples compiles the example of every kind as the tasks of a playbook:
// what the reference shows is what a user may write.
func TestExamples(t *testing.T) {
	t.Parallel()
	registry := engine.NewRegistry(tasks.Modules(), control.General(), control.Actions())
	for name, kind := range registry {
		if kind.Example == "" {
			t.Errorf("%s has no example: add tasks/examples/%s.yaml", name, name)
			continue
		}
		play := "- hosts: all\n  tasks:\n    " + strings.ReplaceAll(kind.Example, "\n", "\n    ")
		library := &playbook.Library{Registry: registry}
		program, err := library.Compile(playbook.Tree{Name: name, FS: fstest.MapFS{"example.yaml": {Data: []byte(play)}}}, "example.yaml")
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if !slices.ContainsFunc(program.Tasks, func(task *playbook.Task) bool { return task.Kind.Name == name }) {
			t.Errorf("the example of %s does not use it", name)
		}
	}
	for _, name := range examples.Names() {
		if _, ok := registry[name]; !ok {
			t.Errorf("tasks/examples/%s.yaml is the example of nothing", name)
		}
	}
}
