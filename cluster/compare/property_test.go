package compare_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/cluster/compare"
)

// damage returns the result of a survey of a cluster with random faults: hosts that
// cannot be examined, members that are down or have no data, members and nodes that
// no host has, other versions, nodes that are cordoned or missing.
func damage(r *rand.Rand, c *cluster.Cluster) compare.Observed {
	o := healthy(c)
	for range r.IntN(4) {
		name := c.Order[r.IntN(len(c.Order))]
		switch r.IntN(11) {
		case 0:
			silent(&o, name)
		case 1, 2:
			if i := slices.IndexFunc(o.Etcd.Members, func(m cluster.LiveMember) bool { return m.Name == name }); i >= 0 {
				o.Etcd.Members[i].Healthy = false
			}
		case 3:
			host(&o, name, func(h *compare.Host) { h.HasEtcdData = false })
		case 4:
			o.Etcd.Members = append(o.Etcd.Members, cluster.LiveMember{ID: 99, Name: "old", Started: true, Healthy: r.IntN(2) == 0})
		case 5:
			dropNode(&o, name)
		case 6:
			node(&o, name, func(n *compare.Node) { n.Version = "v1.35.4" })
		case 7:
			node(&o, name, func(n *compare.Node) { n.Version = "v1.99.0" })
		case 8:
			node(&o, name, func(n *compare.Node) { n.Cordoned, n.CordonedBy = true, "r1" })
		case 9:
			node(&o, name, func(n *compare.Node) { n.Ready, n.Reason = false, "NodeStatusUnknown" })
		case 10:
			if r.IntN(4) == 0 {
				stopped(&o)
				return o
			}
		}
	}
	up := 0
	for _, m := range o.Etcd.Members {
		if m.Healthy {
			up++
		}
	}
	if up < len(o.Etcd.Members)/2+1 { // nobody serves then
		stopped(&o)
	}
	return o
}

// TestDecisionsForRandomClusters checks, for random clusters with random faults, that
// no decision does what must not be done.
func TestDecisionsForRandomClusters(t *testing.T) {
	clusters := map[int]*cluster.Cluster{}
	for _, masters := range []int{1, 3, 5} {
		clusters[masters] = resolve(t, masters, 3)
	}
	seen := map[compare.Action]int{}
	for seed := range uint64(30000) {
		r := rand.New(rand.NewPCG(seed, 11))
		c := clusters[1+2*r.IntN(3)]
		o := damage(r, c)
		rules := compare.Rules{Upgrade: r.IntN(2) == 0, Protected: c.Masters}
		result := compare.Compare(c, o)
		d := compare.Decide(result, rules)
		seen[d.Action]++
		for _, problem := range wrong(c, o, rules, result, d) {
			t.Fatalf("seed %d: %s (%s): %s\nfound %+v", seed, d.Action, d.Reason, problem, o)
		}
	}
	for _, action := range []compare.Action{compare.ActionRepair, compare.ActionUpgrade, compare.ActionNothing, compare.ActionRefuse, compare.ActionStart, compare.ActionRestore} {
		if seen[action] < 10 {
			t.Errorf("only %d decisions are %s: %v", seen[action], action, seen)
		}
	}
}

// wrong returns the rule that a decision violates; empty for none.
func wrong(c *cluster.Cluster, o compare.Observed, rules compare.Rules, result compare.Result, d compare.Decision) []string {
	var out []string
	must := func(ok bool, text string) {
		if !ok {
			out = append(out, text)
		}
	}
	changes := d.Action == compare.ActionRepair || d.Action == compare.ActionUpgrade || d.Action == compare.ActionInstall
	must(d.Reason != "" || d.Action == compare.ActionRepair, "it has no reason")
	if o.Etcd == nil {
		must(!changes, "it changes a cluster that does not answer")
		return out
	}
	var down, unheard []string
	for _, m := range o.Etcd.Members {
		if !m.Healthy {
			down = append(down, m.Name)
		}
	}
	for _, name := range rules.Protected {
		if o.Hosts[name].Failure != "" {
			unheard = append(unheard, name)
		}
	}
	if d.Action == compare.ActionUpgrade {
		must(rules.Upgrade, "nobody has allowed an upgrade")
		must(len(down) == 0, "it restarts members while others are down: "+strings.Join(down, ", "))
		must(len(result.Joining) == 0, "it upgrades while hosts join")
		must(!slices.ContainsFunc(o.Nodes, func(n compare.Node) bool { return !n.Ready }), "it drains nodes while others are not Ready")
	}
	if changes {
		must(len(unheard) == 0, "it changes the cluster without "+strings.Join(unheard, ", "))
		must(!slices.ContainsFunc(o.Nodes, func(n compare.Node) bool { return n.Version == "v1.99.0" }), "it lowers a version")
	}
	if d.Action == compare.ActionRepair {
		must(!slices.ContainsFunc(o.Nodes, func(n compare.Node) bool { return n.Version == "v1.35.4" }), "it repairs and upgrades in the same run")
	}
	for _, n := range o.Nodes {
		left := slices.ContainsFunc(result.LeftCordoned, func(l compare.LeftCordoned) bool { return l.Host == n.Name })
		must(n.CordonedBy == "" || left, n.Name+" is left cordoned, and the result does not have it")
		must(n.CordonedBy == "" || !result.Equal(), n.Name+" is left cordoned, and nothing is to do")
	}
	// A replacement in the order of the result never costs the majority:
	// TestReplacementsKeepMajority.
	for _, step := range result.Replacements {
		must(c.Nodes[step.Host].Name != "", fmt.Sprintf("%s is replaced, and the inventory does not have it", step.Host))
	}
	return out
}
