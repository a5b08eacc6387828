//go:build lab

package networks

import (
	"errors"
	"fmt"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestPluginRoundTrip replaces bgp by Calico and Calico by bgp, on nodes that have a router and pods of both
// families. Pods of all nodes ping each other in both families all the time; the router knows the pods of
// all nodes after each change.
func TestPluginRoundTrip(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3, Proxies: 1})
	nodes := []string{"m1", "n1", "n2", "n3"}
	router := s.Address("p1")
	s.Edit(func(inv map[string]any) {
		dualStack(s, inv)
		delete(harness.Section(inv, "hosts"), "p1")
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1", "n2", "n3"}}
		harness.Section(inv, "cluster", "network")["bgp"] = map[string]any{
			"peers":     []any{map[string]any{"name": "edge", "address": router, "asn": 65010, "accept": []any{"203.0.113.0/24"}}},
			"advertise": map[string]any{"cluster_ips": true, "load_balancer_ips": []any{"192.0.2.0/24"}},
		}
	})
	config := "router id " + router + ";\nprotocol device {}\nprotocol static { ipv4; route 198.51.100.0/24 blackhole; route 203.0.113.0/24 blackhole; }\n"
	for _, node := range nodes {
		config += fmt.Sprintf("protocol bgp %s { local %s as 65010; neighbor %s as 64512; error wait time 1, 5; connect retry time 5; ipv4 { import all; export where source = RTS_STATIC; }; }\n", node, router, s.Address(node))
	}
	s.Shell("p1", "cat >/tmp/router.conf <<'EOF'\n"+config+"EOF\nbird -c /tmp/router.conf -s /tmp/router.ctl -P /tmp/router.pid")
	s.Must("install")
	requireRouterRoutes(s, router, nodes)
	startPods(s)
	pings := startMesh(s, nodes)
	pings.require(t, "before the changes")

	for _, plugin := range []string{"calico", "bgp"} {
		s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "network")["plugin"] = plugin })
		s.Must("network", "change-plugin", "--yes")
		pings.require(t, "with "+plugin)
		requireRouterRoutes(s, router, nodes)
		s.Must("verify")
		requireNetwork(s, "pod network "+plugin, "4 nodes, no problems")
		s.RequireTexts(s.Must("install").All(), "0 changed")
	}
	requireNoCalico(s, nodes)
	sent, lost := pings.end(t)
	total.pinged(sent, lost)
	t.Logf("plugin round trip pings=%d lost=%d", sent, lost)
	if lost > 0 || sent < 1000 {
		t.Errorf("%d of %d pings were lost, want none of at least 1000", lost, sent)
	}
	if err := errors.Join(pings.errors...); err != nil {
		t.Error(err)
	}
}
