package project_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/project"
)

const four = `
hosts: {m1: {address: 10.0.0.1}, m2: {address: 10.0.0.2}, n1: {address: 10.0.0.3}, n2: {address: 10.0.0.4}, spare: }
roles: {master: [m1, m2], minion: [n1, n2]}
cluster: {etcd: {allow_even: true}}
`

// TestLeavingHostsHaveNoRole: hosts that leave are hosts of the run and of their group,
// and of no role; dead ones are not hosts of the run.
func TestLeavingHostsHaveNoRole(t *testing.T) {
	inDir(t, map[string]string{"inventory.yaml": four})
	p, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{},
		Groups: project.RunGroups{Leaving: []string{"n2"}, Dead: []string{"m1", "old"}}})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string][]string{
		"all": {"m2", "n1", "n2"}, "leaving": {"n2"}, "joining": nil, "node": {"m2", "n1"}, "master": {"m2"}, "etcd": {"m2"}, "all:!leaving": {"m2", "n1"},
	} {
		got, err := p.Match(pattern)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", pattern, got, err, want)
		}
	}
	if p.Cluster.Nodes["n2"].IsNode || !p.Departure.Former["n2"].IsNode || len(p.Cluster.Etcd.Members) != 1 {
		t.Errorf("n2: %+v", p.Cluster.Nodes["n2"])
	}
	v, err := p.Variables()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"n2"}, v.ForHost("m2")["groups"].(map[string]any)["leaving"]); diff != "" {
		t.Error(diff)
	}
	leaving := v.ForHost("m2")["leaving"].(map[string]any)
	if diff := cmp.Diff([]any{"m1", "old"}, leaving["members"]); diff != "" {
		t.Error(diff)
	}
}

func TestRunGroupErrors(t *testing.T) {
	inDir(t, map[string]string{"inventory.yaml": four, "taken.yaml": four + "groups: {leaving: {hosts: [n1]}}\n"})
	for name, c := range map[string]struct {
		file   string
		groups project.RunGroups
		want   string
	}{
		"all masters":      {"inventory.yaml", project.RunGroups{Leaving: []string{"m1", "m2"}}, "no host is a master"},
		"all minions":      {"inventory.yaml", project.RunGroups{Leaving: []string{"n1"}, Dead: []string{"n2"}}, "no node would be left that takes ordinary pods"},
		"unknown":          {"inventory.yaml", project.RunGroups{Joining: []string{"x"}}, `there is no host "x"`},
		"the user's group": {"taken.yaml", project.RunGroups{Leaving: []string{"n2"}}, `the inventory has a group "leaving"`},
	} {
		_, err := project.LoadCluster(c.file, project.Options{Agents: agents{}, Groups: c.groups})
		var userError *project.UserError
		if !errors.As(err, &userError) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestSelectHosts(t *testing.T) {
	inDir(t, map[string]string{"inventory.yaml": four + "groups: {none: {hosts: []}}\n"})
	p, err := project.Load("inventory.yaml", project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := project.SelectHosts(p.Inventory, []string{"n2", "m[1:2]", "n2"}); err != nil || !slices.Equal(got, []string{"m1", "m2", "n2"}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, pattern := range []string{"", "x", "none", "n1:!n1"} {
		if got, err := project.SelectHosts(p.Inventory, []string{pattern}); err == nil {
			t.Errorf("pattern %q selects %v", pattern, got)
		}
	}
}
