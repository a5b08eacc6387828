package roles_test

import (
	"slices"
	"strings"
	"testing"
)

// TestPluginRoutes: while the network plugin changes, a node has a route to the pods of each other
// node, in a table that BIRD does not read, and rules that find it.
func TestPluginRoutes(t *testing.T) {
	s := newSiteOf(t, "calico", "network-plugin")
	lines := strings.Split(strings.TrimSpace(s.files(t, "m1")["/etc/deployer/plugin-routes"]), "\n")
	rules := []string{"rule add pref 32010 lookup main suppress_prefixlength 0", "rule add pref 32011 lookup 4097"}
	for _, rule := range rules {
		if !slices.Contains(lines, rule) {
			t.Errorf("no %q in %q", rule, lines)
		}
	}
	for _, name := range s.cluster.NodeNames {
		has := slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "route replace table 4097 ") && strings.Contains(line, " via "+s.cluster.Nodes[name].IP+" ")
		})
		if has != (name != "m1") {
			t.Errorf("a route to the pods of %s: %v", name, has)
		}
	}
	if len(lines) != 2+len(rules)+len(s.cluster.NodeNames)-1 {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

// TestPluginRoutesBack: while bgp takes the place of Calico, a node has routes to the blocks of other
// nodes, too.
func TestPluginRoutesBack(t *testing.T) {
	s := newSiteOf(t, "haproxy", "network-plugin-bgp")
	lines := strings.Split(strings.TrimSpace(s.files(t, "m1")["/etc/deployer/plugin-routes"]), "\n")
	route := "route replace table 4097 10.244.98.0/26 via " + s.cluster.Nodes["n1"].IP + " protocol 215"
	if !slices.Contains(lines, route) || slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "10.244.99.0/26") }) {
		t.Errorf("want %q and no route to a block of the node itself in %q", route, lines)
	}
}
