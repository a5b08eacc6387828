package roles_test

import (
	"slices"
	"testing"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/roles"
)

// TestInstallUncordonsReadyNodes checks that an install uncordons the nodes that a
// killed run has left cordoned, after they are Ready.
func TestInstallUncordonsReadyNodes(t *testing.T) {
	p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/install.yaml")
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) int {
		return slices.IndexFunc(p.Tasks, func(task *program.Task) bool { return task.Name == name })
	}
	if ready, open := at("the node is Ready"), at("uncordon the node"); ready < 0 || open < ready {
		t.Errorf("the node is Ready at task %d, and uncordoned at %d", ready, open)
	}
}
