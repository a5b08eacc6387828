package compare_test

import (
	"testing"

	"deployer/cluster"
	"deployer/cluster/compare"
)

// TestProblemsAreNoBrokenComponents: what no run repairs is a difference, and no broken component.
func TestProblemsAreNoBrokenComponents(t *testing.T) {
	c := resolve(t, 3, 1)
	found := healthy(c)
	if r := compare.Compare(c, found); !r.Equal() {
		t.Fatalf("a healthy cluster: %+v", r)
	}
	found.Problems = []compare.Broken{{Component: "webhook x", Detail: "no backend"}}
	if r := compare.Compare(c, found); r.Equal() || len(r.Problems) != 1 || len(r.Broken) != 0 {
		t.Errorf("%+v", r)
	}
	for check, want := range map[string]bool{"static pods": true, "rules for pods": true, "unit etcd.service": true, "CNI configuration": false, "files in manifests": false} {
		if compare.Repairable(check) != want {
			t.Errorf("%s is repairable: %t", check, !want)
		}
	}
}

// TestMissingNetwork: nodes that wait for a pod network that is not deployer's are neither broken
// nor candidates for a replacement; with a network of deployer's they are broken.
func TestMissingNetwork(t *testing.T) {
	c := resolve(t, 3, 1)
	found := healthy(c)
	for i := range found.Nodes {
		found.Nodes[i].Ready, found.Nodes[i].LacksNetwork = false, true
	}
	if r := compare.Compare(c, found); len(r.Broken) != 4 || len(r.Problems) != 0 || len(r.Replacements) != 4 {
		t.Errorf("bgp: %+v", r)
	}
	c.Network.Plugin = cluster.PluginNone
	r := compare.Compare(c, found)
	if r.Equal() || len(r.Broken) != 0 || len(r.Replacements) != 0 || len(r.Problems) != 1 || r.Problems[0].Detail != "m1, m2, m3, n1 have none, so they are not Ready" {
		t.Errorf("none: %+v", r)
	}
	found.Nodes[0].LacksNetwork = false // for another reason
	if r := compare.Compare(c, found); len(r.Broken) != 1 || r.Broken[0].Host != "m1" {
		t.Errorf("m1: %+v", r.Broken)
	}
}
