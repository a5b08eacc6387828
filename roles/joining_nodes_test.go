package roles_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
	"deployer/roles"
	"deployer/tasks/control/report"
	"deployer/tasks/controlflow"
)

// TestNodesThatJoinAreJudgedByTheirOwnPods checks which problems of test pods keep a node
// cordoned: its own and those of the whole cluster.
func TestNodesThatJoinAreJudgedByTheirOwnPods(t *testing.T) {
	other := report.Bad("test pod", "n1", "it does not become ready")
	own := report.Bad("DNS inside", "n2", "1 of 2 fail")
	whole := report.Bad("test pods", "", "no API server answers")
	for name, task := range map[string]struct{ playbook, name, register string }{
		"scale-up": {"scale-up", "pods of the nodes that join reach the others, DNS and Services", "joined_pods"},
		"install":  {"install", "pods of the node reach the others, DNS and Services", "cordoned_pods"},
	} {
		for _, c := range []struct {
			rows  []report.Row
			holds bool
			text  string // after the colon
		}{
			{nil, true, ""},
			{[]report.Row{report.OK("test pod", "n2", "runs")}, true, ""},
			{[]report.Row{other}, true, ""},
			{[]report.Row{other, own}, false, "DNS inside: 1 of 2 fail"},
			{[]report.Row{own, whole}, false, "DNS inside: 1 of 2 fail; test pods: no API server answers"},
		} {
			out := map[string]any{} // of a dry run
			if len(c.rows) > 0 {
				out = report.Output(c.rows)
				out["nodes"] = []any{"n2"}
			}
			a := assertOf(t, task.playbook, task.name, map[string]any{"host": map[string]any{"name": "n2"}, task.register: out})
			if got := a.That[0].Holds; got != c.holds {
				t.Errorf("%s: %v: holds %t, want %t", name, c.rows, got, c.holds)
			}
			if diff := cmp.Diff("the node stays cordoned, because the test of its pods found: "+c.text, a.FailMsg); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// assertOf returns the arguments of an assert of a playbook with variables.
func assertOf(t *testing.T, playbook, name string, values map[string]any) *controlflow.Assert {
	t.Helper()
	p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/"+playbook+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range p.Tasks {
		if task.Name != name {
			continue
		}
		args, err := task.BuildArgs(lang.NewVars(values, nil))
		if err != nil {
			t.Fatal(err)
		}
		return args.(*controlflow.Assert)
	}
	t.Fatalf("%s has no task %q", playbook, name)
	return nil
}
