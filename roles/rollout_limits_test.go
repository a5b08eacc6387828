package roles_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/limit"
	"deployer/roles"
)

// limits are the limits of a rollout for one host.
type limits struct {
	Domains  []program.Domain
	Spread   string
	Critical []string
}

// limitsOf returns the limits of every rollout of a playbook for host n1, by the name of
// the block.
func limitsOf(t *testing.T, playbook string, rollout, labels, extra map[string]any) map[string]limits {
	t.Helper()
	p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/"+playbook+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]limits{}
	for _, op := range p.Ops {
		if op.Kind != program.OpBlock || op.Block.Rollout == nil {
			continue
		}
		b, r := op.Block, op.Block.Rollout
		vars := lang.NewVars(map[string]any{"cluster": map[string]any{"rollout": rollout}, "host": map[string]any{"name": "n1", "labels": labels}}, extra)
		var got limits
		if got.Domains, err = b.Domains("max_unavailable", r.MaxUnavailable, vars); err != nil {
			t.Errorf("%s: %s: %v", playbook, b.Name, err)
		}
		if got.Spread, err = b.Text(r.Spread, vars); err != nil {
			t.Errorf("%s: %s: %v", playbook, b.Name, err)
		}
		if got.Critical, err = b.Groups("critical", r.Critical, vars); err != nil {
			t.Errorf("%s: %s: %v", playbook, b.Name, err)
		}
		out[b.Name] = got
	}
	return out
}

// TestRolloutsHeedTheInventory checks that every rollout of nodes has the limits of
// cluster.rollout, and no limits without them.
func TestRolloutsHeedTheInventory(t *testing.T) {
	none := map[string]any{"max_unavailable": []any{}, "spread": "", "critical": []any{}}
	set := map[string]any{"spread": "zone", "critical": []any{"n2"},
		"max_unavailable": []any{map[string]any{"label": "zone", "limit": "1"}, map[string]any{"label": "rack", "limit": "50%"}}}
	want := limits{Spread: "a", Critical: []string{"n2"},
		Domains: []program.Domain{{Value: "a", Limit: limit.Limit{Count: 1}}, {Limit: limit.Limit{Percent: 50, Share: true}}}}
	alone := []string{"member of etcd in use", "member of etcd for events in use", "member of etcd for Calico in use", "master", "control plane", "load balancers on masters", "virtual address of the API"} // one host at a time in any case
	for _, playbook := range []string{"install", "upgrade", "scale-up", "scale-down"} {
		checked := 0
		for name, got := range limitsOf(t, playbook, set, map[string]any{"zone": "a"}, nil) {
			if slices.Contains(alone, name) {
				continue
			}
			checked++
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s: %s", playbook, name, diff)
			}
		}
		if checked == 0 {
			t.Errorf("%s has no rollout of nodes", playbook)
		}
		for name, got := range limitsOf(t, playbook, none, map[string]any{}, nil) {
			if len(got.Domains)+len(got.Critical) > 0 || got.Spread != "" {
				t.Errorf("%s: %s without settings: %+v", playbook, name, got)
			}
		}
	}
}

// TestUpgradeFlagsReplaceTheInventory checks the variables that flags of upgrade set.
func TestUpgradeFlagsReplaceTheInventory(t *testing.T) {
	rollout := map[string]any{"spread": "zone", "critical": []any{"n2"}, "max_unavailable": []any{map[string]any{"label": "zone", "limit": "1"}}}
	flags := map[string]any{"upgrade_spread": "rack", "upgrade_critical": []any{"minion"},
		"upgrade_max_unavailable": []any{map[string]any{"label": "rack", "limit": "2"}}}
	want := limits{Spread: "r1", Critical: []string{"minion"}, Domains: []program.Domain{{Value: "r1", Limit: limit.Limit{Count: 2}}}}
	got := limitsOf(t, "upgrade", rollout, map[string]any{"zone": "a", "rack": "r1"}, flags)["minion"]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
