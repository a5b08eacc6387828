package roles_test

import (
	"slices"
	"testing"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/roles"
)

// TestReaddressIsMarkedToItsEnd: the units of the members have their former addresses until role
// etcd has written them, so an interrupted readdress looks like one that has not begun. Its mark
// stays until everything is installed; the readdress itself must pass it.
func TestReaddressIsMarkedToItsEnd(t *testing.T) {
	p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/etcd-readdress.yaml")
	if err != nil {
		t.Fatal(err)
	}
	place := func(name string) int {
		return slices.IndexFunc(p.Tasks, func(task *program.Task) bool { return task.Name == name })
	}
	order := []string{"mark the replacement of the data as unfinished", "etcd runs", "kube-proxy", "effects of the configuration", "remove the mark"}
	for i, name := range order {
		if place(name) < 0 || i > 0 && place(name) < place(order[i-1]) {
			t.Errorf("%q is task %d, want it behind %v", name, place(name), order[:i])
		}
	}
	if place("remove the mark") != len(p.Tasks)-1 {
		t.Errorf("the mark is removed by task %d of %d", place("remove the mark"), len(p.Tasks))
	}
	refusal := p.Tasks[place("no restore of etcd is unfinished")]
	for id, want := range map[string]bool{"": true, "20261127-092540": false} {
		vars := lang.NewVars(map[string]any{"host": map[string]any{"is_etcd": true}}, map[string]any{"etcd_restore_id": id})
		got, _, err := refusal.Applies(vars)
		if err != nil || got != want {
			t.Errorf("with the id %q the refusal applies: %v, %v; want %t", id, got, err, want)
		}
	}
}
