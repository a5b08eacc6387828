//go:build lab

package networks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestCalicoRouters gives a cluster in use with Calico a router of the inventory. It learns pods and
// Services, nodes accept of its routes those of the inventory only, and a wrong password reaches one
// node, which is put back. Pods ping each other meanwhile.
func TestCalicoRouters(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3, Proxies: 1})
	nodes := []string{"m1", "n1", "n2", "n3"}
	router := s.Address("p1")
	s.Edit(func(inv map[string]any) {
		delete(harness.Section(inv, "hosts"), "p1")
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1", "n2", "n3"}}
		harness.Section(inv, "cluster", "network")["plugin"] = "calico"
	})
	s.Must("install")
	pods := startPods(s)
	pings := []*pinger{startPing(s, "n2", pods["n1"]), startPing(s, "n3", pods["m1"])}

	config := "router id " + router + ";\nprotocol device {}\nprotocol static { ipv4; route 198.51.100.0/24 blackhole; route 203.0.113.0/24 blackhole; route 0.0.0.0/0 blackhole; route 10.244.0.0/16 blackhole; }\n"
	for _, node := range nodes {
		config += fmt.Sprintf("protocol bgp %s { local %s as 65010; neighbor %s as 64512; error wait time 1, 5; connect retry time 5; password \"hunter2\"; ipv4 { import all; export where source = RTS_STATIC; }; }\n", node, router, s.Address(node))
	}
	s.Shell("p1", "cat >/tmp/router.conf <<'EOF'\n"+config+"EOF\nbird -c /tmp/router.conf -s /tmp/router.ctl -P /tmp/router.pid")

	setPeer := func(password string) {
		s.Edit(func(inv map[string]any) {
			harness.Section(inv, "cluster", "network")["bgp"] = map[string]any{
				"peers": []any{map[string]any{"name": "edge", "address": router, "asn": 65010, "accept": []any{"203.0.113.0/24"},
					"password": &yaml.Node{Kind: yaml.ScalarNode, Tag: "!secret", Value: password}}},
				"advertise": map[string]any{"cluster_ips": true, "load_balancer_ips": []any{"192.0.2.0/24"}},
			}
		})
	}
	const labels = `get nodes -o 'jsonpath={range .items[*]}{.metadata.labels.router\.deployer/edge} {end}'`
	setPeer("wrong")
	o := s.Deployer("install")
	if o.Code == 0 {
		t.Error("a router without a session was accepted")
	}
	s.RequireTexts(o.All(), "new sessions with routers are not established: Node_"+strings.ReplaceAll(router, ".", "_"), "which has its former sessions")
	if got := s.Kubectl("m1", labels); strings.TrimSpace(got) != "" {
		t.Errorf("after a failed change nodes have labels of the router: %q", got)
	}
	setPeer("hunter2")
	plan := s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode")
	s.RequireExit(plan, 2)
	s.RequireTexts(plan.All(), "BGPPeer deployer-router-edge-", "sessions with routers")
	s.Must("install")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
	requireNetwork(s, "m1 4 of 4 3 of 3", "n3 4 of 4 3 of 3", "4 nodes, no problems")
	requireRouterRoutes(s, router, nodes)

	// Other settings are a new BGPPeer, to which nodes move one by one; the former one is removed.
	s.Must("verify")
	s.Shell("p1", "kill $(cat /tmp/router.pid)")
	o = s.Run("network", "status", "-i", s.Inventory)
	s.RequireExit(o, 5)
	s.RequireTexts(o.Stdout, "router edge ("+router+") has no session: m1 (")
	s.Edit(func(inv map[string]any) { delete(harness.Section(inv, "cluster", "network"), "bgp") })
	s.Must("install")
	if left := s.Kubectl("m1", "get bgppeers.crd.projectcalico.org,bgpfilters.crd.projectcalico.org -o name"); strings.TrimSpace(left) != "" {
		t.Errorf("without routers there are %q", left)
	}
	if got := s.Kubectl("m1", "-n kube-system get secret calico-bgp-passwords -o 'jsonpath={.data}'"); strings.Contains(got, "deployer.edge") {
		t.Errorf("the Secret still has passwords of the router: %s", got)
	}
	requireNetwork(s, "m1 3 of 3 3 of 3", "4 nodes, no problems")
	sent, lost := 0, 0
	for _, p := range pings {
		a, b := p.stop()
		sent, lost = sent+a, lost+a-b
	}
	total.pinged(sent, lost)
	if sent < 300 || lost > 0 {
		t.Errorf("%d of %d pings were lost, want none of at least 300", lost, sent)
	}
}

// requireRouterRoutes requires that the router has the routes to pods and Services by all nodes, and that
// nodes have the accepted route of the router only.
func requireRouterRoutes(s *harness.Site, router string, nodes []string) {
	s.T.Helper()
	s.Eventually(30*time.Second, "the router and the nodes have each other's routes", func() error {
		routes := s.Shell("p1", "birdc -s /tmp/router.ctl show route all")
		for _, want := range append([]string{"10.96.0.0/16", "192.0.2.0/24"}, nodes[1:]...) { // protocols are named after nodes
			if !strings.Contains(routes, want) {
				return fmt.Errorf("the router has no route of %s:\n%s", want, routes)
			}
		}
		for _, node := range nodes {
			if out := s.Shell(node, "ip route show 203.0.113.0/24"); !strings.Contains(out, "via "+router) {
				return fmt.Errorf("%s has no route of the router: %q", node, out)
			}
		}
		return nil
	})
	for _, node := range nodes {
		if out := s.Shell(node, "ip route show proto bird"); strings.Contains(out, "198.51.100.0/24") || strings.Contains(out, "default") || strings.Contains(out, "10.244.0.0/16 ") {
			s.T.Errorf("%s has routes of the router that the inventory does not name:\n%s", node, out)
		}
	}
}
