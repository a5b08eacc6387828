package roles_test

import (
	"slices"
	"strings"
	"testing"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/roles"
)

// kindsIn returns the kinds of the tasks between two operations that work on a node.
func kindsIn(p *program.Program, from, to int) []string {
	var out []string
	for _, op := range p.Ops[from:to] {
		if op.Kind == program.OpTask && slices.Contains([]string{"kube_cordon", "hook", "kube_drain", "kube_uncordon"}, op.Task.Kind.Name) {
			out = append(out, op.Task.Kind.Name)
		}
	}
	return out
}

// TestHooksAroundDrains checks that hooks run between the cordon and the drain, and before
// a node takes pods again, for masters and minions of an upgrade, and that hosts that leave
// the cluster have them too. The block itself has none, so that a check or restore of the
// block never runs a hook.
func TestHooksAroundDrains(t *testing.T) {
	p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/upgrade.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, op := range p.Ops {
		b := op.Block
		if op.Kind != program.OpBlock || b.Rollout == nil || b.Name != "master" && b.Name != "minion" {
			continue
		}
		checked++
		body := b.Rollout.Body
		for part, got := range map[string][]string{
			"kube_cordon hook kube_drain": kindsIn(p, b.Begin, body.Begin), "": kindsIn(p, body.Begin, body.End), "hook kube_uncordon": kindsIn(p, b.Always, b.End),
		} {
			if !slices.Equal(got, strings.Fields(part)) {
				t.Errorf("%s: %v, want %q", b.Name, got, part)
			}
		}
	}
	if checked != 2 {
		t.Errorf("%d rollouts were checked, want those of masters and minions", checked)
	}
	p, err = compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/scale-down.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := kindsIn(p, 0, len(p.Ops)) // install drains the nodes that it takes out at its end
	if !slices.Equal(got, strings.Fields("kube_cordon hook kube_drain kube_drain hook")) {
		t.Errorf("scale-down: %v", got)
	}
}

// TestHooksOfAPhase checks which hooks run in which phase of which work.
func TestHooksOfAPhase(t *testing.T) {
	p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/upgrade.yaml")
	if err != nil {
		t.Fatal(err)
	}
	hook := func(name, phase string, always bool) any {
		return map[string]any{"name": name, "phase": phase, "always": always}
	}
	vars := map[string]any{"maintenance_hooks": []any{hook("a", "before", false), hook("b", "before", true), hook("c", "after", false), hook("d", "after", true)}}
	checked := 0
	for i, op := range p.Ops {
		if op.Kind != program.OpTask || op.Task.Kind.Name != "hook" {
			continue
		}
		for _, c := range []struct {
			work          any // node_work_now; nil for a run in which it did not run
			before, after string
		}{
			{map[string]any{"intrusive": true}, "a b", "c d"},
			{map[string]any{"intrusive": false}, "b", "d"},
			{nil, "", "c d"},
		} {
			want := c.before
			if op.Task.Block.PostTasks(i) {
				want = c.after
			} else if c.work == nil {
				continue
			}
			checked++
			now := lang.NewVars(vars, nil)
			if c.work != nil {
				now.Assign("node_work_now", c.work)
			}
			if err := now.PushScope(op.Task.Scopes, op.Task.Loop.Refs); err != nil {
				t.Error(err)
				continue
			}
			items, err := op.Task.Loop.Items(now.Map())
			if err != nil {
				t.Error(err)
			}
			var got []string
			for _, item := range items {
				got = append(got, item.(map[string]any)["name"].(string))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("work %v: hooks %q, want %q", c.work, got, want)
			}
		}
	}
	if checked != 10 {
		t.Errorf("%d cases were checked", checked)
	}
}

// TestHooksOfHostsThatLeft checks that hooks of phase removed are the last work of scale-down, and that they run for all
// hosts of the inventory that leave, also for dead ones.
func TestHooksOfHostsThatLeft(t *testing.T) {
	p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/scale-down.yaml")
	if err != nil {
		t.Fatal(err)
	}
	hooks := func(host string) any {
		hook := func(name string) any { return map[string]any{"host": host, "name": name} }
		return map[string]any{"vars": map[string]any{"removed_hooks": []any{hook("a"), hook("b")}}}
	}
	vars := map[string]any{"hosts": map[string]any{"n1": hooks("n1"), "n2": hooks("n2"), "n3": hooks("n3")},
		"leaving": map[string]any{"hosts": []any{"n3"}, "dead": []any{"stranger", "n2"}, "keep_nodes": false}}
	var last, before *program.Task
	for _, op := range p.Ops {
		if op.Kind == program.OpTask {
			before, last = last, op.Task
		}
	}
	if len(before.Needs) != 2 {
		t.Errorf("%s waits for %v, want the cleaning of the hosts and the firewalls of all", before.Name, before.Needs)
	}
	if last.Kind.Name != "hook" || !last.RunOnce {
		t.Fatalf("the last task is %s", last.Kind.Name)
	}
	now := lang.NewVars(vars, nil)
	if err := now.PushScope(last.Scopes, last.Loop.Refs); err != nil {
		t.Fatal(err)
	}
	items, err := last.Loop.Items(now.Map())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range items {
		m := item.(map[string]any)
		got = append(got, m["host"].(string)+" "+m["name"].(string))
	}
	if want := []string{"n3 a", "n3 b", "n2 a", "n2 b"}; !slices.Equal(got, want) {
		t.Errorf("hooks %q, want %q", got, want)
	}
}
