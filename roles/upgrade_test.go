package roles_test

import (
	"slices"
	"testing"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/roles"
)

// TestUpgradeOfOneComponent checks that upgrade --only selects the tasks that change the
// component, and none that restarts another one.
func TestUpgradeOfOneComponent(t *testing.T) {
	restarts := map[string]string{ // component by the task that replaces it
		"etcd runs": "etcd", "API server": "kube-apiserver", "controller manager": "kube-controller-manager", "scheduler": "kube-scheduler",
		"containerd runs": "containerd", "kubelet runs": "kubelet", "kube-proxy": "kube-proxy",
	}
	for _, only := range append([]string{""}, slices.Sorted(values(restarts))...) {
		lib := compiler()
		if only != "" {
			lib.Tags = []string{only}
		}
		p, err := lib.Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/upgrade.yaml")
		if err != nil {
			t.Errorf("%s: %v", only, err)
			continue
		}
		found := map[string]bool{}
		for _, task := range p.Tasks {
			if c := restarts[task.Name]; c != "" {
				found[c] = true
			}
		}
		for _, c := range restarts {
			if want := only == "" || only == c; found[c] != want {
				t.Errorf("--only %q: tasks of %s: %t", only, c, found[c])
			}
		}
		for _, name := range []string{"report all problems at once", "a verified snapshot of etcd", "every node is Ready"} {
			if !slices.ContainsFunc(p.Tasks, func(task *program.Task) bool { return task.Name == name }) {
				t.Errorf("--only %q: there is no task %q", only, name)
			}
		}
	}
}

func values(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// TestUpgradeChangesInTurns checks that every task of an upgrade that replaces or restarts
// a component of a node stands in a rollout, or behind etcd's throttle.
func TestUpgradeChangesInTurns(t *testing.T) {
	p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/upgrade.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	inTurns := 0
	for _, op := range p.Ops {
		switch op.Kind {
		case program.OpBlock:
			if op.Block.Rollout != nil || op.Block.Throttle != nil {
				inTurns++
			}
		case program.OpEnd:
			if op.Block.Rollout != nil || op.Block.Throttle != nil {
				inTurns--
			}
		case program.OpTask:
			if slices.Contains([]string{"unit", "artifact", "kube_drain"}, op.Task.Kind.Name) {
				checked++
				if inTurns == 0 {
					t.Errorf("task %q is in no rollout", op.Task.Name)
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d tasks were checked", checked)
	}
}

// TestUpgradeOrder checks that masters wait for all members of etcd and Typha, and minions for all
// masters, whatever part of the cluster is upgraded.
func TestUpgradeOrder(t *testing.T) {
	for _, only := range [][]string{nil, {"kubelet"}, {"etcd"}} {
		lib := compiler()
		lib.Tags = only
		p, err := lib.Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/upgrade.yaml")
		if err != nil {
			t.Fatal(err)
		}
		needs := map[string][]string{}
		for _, op := range p.Ops {
			if op.Kind == program.OpBlock && op.Block.Rollout != nil {
				for _, n := range op.Block.Needs {
					if n.Count == 0 { // all hosts
						needs[op.Block.Name] = append(needs[op.Block.Name], n.Label.Name)
					}
				}
			}
		}
		if !slices.Equal(needs["master"], []string{"etcd-upgraded", "typha-upgraded"}) || !slices.Equal(needs["minion"], []string{"masters-upgraded"}) {
			t.Errorf("--only %v: %v", only, needs)
		}
	}
}
