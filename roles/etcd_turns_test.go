package roles_test

import (
	"slices"
	"testing"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/roles"
)

// TestTurnsOfEtcd checks which members of etcd change in a rollout, which restores
// them, and which behind a throttle; and that the quorum is checked right before each
// change of an existing cluster.
func TestTurnsOfEtcd(t *testing.T) {
	for _, playbook := range []string{"install", "upgrade", "scale-up"} {
		turnsOf(t, playbook, "etcd", "etcd_plan")
		turnsOf(t, playbook, "etcd for events", "etcd_events_plan")
		turnsOf(t, playbook, "etcd for Calico", "etcd_calico_plan")
	}
}

// turnsOf checks the turns of the members of one etcd cluster.
func turnsOf(t *testing.T, playbook, what, plan string) {
	t.Helper()
	p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/"+playbook+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]*program.Block{}
	for _, op := range p.Ops {
		if op.Kind == program.OpBlock && (op.Block.Rollout != nil || op.Block.Throttle != nil) {
			blocks[op.Block.Name] = op.Block
		}
	}
	repaired, joins, inUse := blocks["member of "+what+" that does not serve yet"], blocks["new member of "+what], blocks["member of "+what+" in use"]
	if repaired == nil || joins == nil || inUse == nil {
		t.Fatalf("%s: there are no turns of %s", playbook, what)
	}
	if got := kinds(p, inUse.Begin, inUse.Rollout.Body.Begin); !slices.Equal(got, []string{"etcd_may_restart"}) {
		t.Errorf("%s: pre_tasks of the rollout are %v", playbook, got)
	}
	if got := kinds(p, repaired.Begin, repaired.End); len(got) == 0 || got[0] != "etcd_may_restart" {
		t.Errorf("%s: a member that does not serve is changed by %v", playbook, got)
	}
	if len(inUse.Needs) != 2 || inUse.Needs[0].Count != 0 || inUse.Needs[1].Count != 0 {
		t.Errorf("%s: members in use do not wait for all repairs and additions: %v", playbook, inUse.Needs)
	}
	if len(joins.Needs) != 1 || joins.Needs[0].Count != 0 || joins.Needs[0].Label != inUse.Needs[0].Label {
		t.Errorf("%s: additions do not wait for all repairs: %v", playbook, joins.Needs)
	}
	for _, c := range []struct {
		name              string
		action            string
		bootstrap, serves bool
		changes           map[string]any
		restored, joins   bool
		atOnce            int // hosts that may change at the same time, without a rollout
	}{
		{name: "a new cluster", action: "bootstrap", bootstrap: true},
		{name: "a cluster that is down", action: "member", bootstrap: true},
		{name: "a member that serves", action: "member", serves: true, restored: true},
		{name: "a member that is down", action: "member", atOnce: 1},
		{name: "another address", action: "readdress", serves: true, atOnce: 1},
		{name: "a new member", action: "join", joins: true, atOnce: 1},
		{name: "another patch release", action: "member", serves: true, changes: map[string]any{"etcd_minor": false}, restored: true},
		{name: "another minor version", action: "member", serves: true, changes: map[string]any{"etcd_minor": true}, atOnce: 1},
	} {
		values := map[string]any{
			"host": map[string]any{"name": "m1"},
			plan: map[string]any{"bootstrap": c.bootstrap, "hosts": map[string]any{
				"m1": map[string]any{"action": c.action, "serves": c.serves},
			}},
		}
		if c.changes != nil {
			values["version_changes"] = c.changes
		}
		vars := lang.NewVars(values, nil)
		restored, _, err := inUse.Applies(vars)
		if err != nil {
			t.Fatal(err)
		}
		behind, _, err := repaired.Applies(vars)
		added, _, addedErr := joins.Applies(vars)
		if err != nil || addedErr != nil || restored != c.restored || added != c.joins || behind == (restored || added) {
			t.Errorf("%s: %s: rollout %t, addition %t, throttle %t, %v, %v", playbook, c.name, restored, added, behind, err, addedErr)
		}
		turn := repaired
		if added {
			turn = joins
		}
		limit, err := program.ThrottleLimit(turn.Throttle, turn.Scopes, vars)
		if err != nil || (behind || added) && limit != c.atOnce {
			t.Errorf("%s: %s: at most %d at once, %v; want %d", playbook, c.name, limit, err, c.atOnce)
		}
	}
}

// kinds returns the modules and actions of a range of operations.
func kinds(p *program.Program, from, to int) []string {
	var out []string
	for _, op := range p.Ops[from:to] {
		if op.Kind == program.OpTask {
			out = append(out, op.Task.Kind.Name)
		}
	}
	return out
}
