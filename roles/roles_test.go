package roles_test

import (
	"testing"

	"deployer/engine"
	"deployer/engine/compile"
	"deployer/engine/lang"
	"deployer/roles"
	"deployer/tasks"
	"deployer/tasks/control"
	"deployer/templates"
)

func compiler() *compile.Compiler {
	return &compile.Compiler{
		Registry:  engine.NewRegistry(tasks.Modules(), control.General(), control.Actions()),
		Roles:     []lang.Tree{{Name: "roles", FS: roles.FS}},
		Templates: lang.Tree{Name: "templates", FS: templates.FS},
	}
}

// TestPlaybooksCompile checks every playbook against the registry: unknown tasks and
// arguments, syntax of expressions and templates, labels and handlers.
func TestPlaybooksCompile(t *testing.T) {
	books, err := roles.FS.ReadDir("playbooks")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range books {
		p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/"+b.Name())
		if err != nil {
			t.Errorf("%s:\n%v", b.Name(), err)
			continue
		}
		if len(p.Tasks) == 0 {
			t.Errorf("%s has no tasks", b.Name())
		}
	}
}
