//go:build lab

package networks

import (
	"fmt"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// rackNodes are the nodes of TestRacks with their places: rack 1 or 2, and the address in its network.
var rackNodes = map[string]struct{ rack, host int }{"m1": {1, 11}, "n1": {1, 12}, "n2": {2, 11}, "n3": {2, 12}}

// rackRouters are the routers of both racks, with the last byte of their addresses.
var rackRouters = map[string]int{"p1": 1, "p2": 2}

func rackAddress(rack, host int) string { return fmt.Sprintf("10.20.%d.%d", rack, host) }

// maxFailoverPings is the number of pings each 50 ms that may be lost between two pods when one of
// two routers disappears: BFD detects it after three packets each 300 ms, at both ends.
const maxFailoverPings = 40

// TestRacks installs a cluster in two racks, which have networks of their own with routers between them.
// The routers learn the ranges of pods and Services from the nodes. A second router is added while
// pods ping across racks; one with a wrong number of its autonomous system reaches one node only, and is
// put back. Then a router is switched off.
func TestRacks(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3, Proxies: 2})
	connectRacks(s)
	o := s.Deployer("install")
	s.RequireExit(o, refused)
	s.RequireTexts(o.All(), "routers are between the host and 10.20.2.11 (by 10.20.1.1)", "network.bgp.rack_label")

	const right, wrong = 65010, 65099
	routers := map[string]int{"p1": right}
	setRouters(s, routers)
	startRouter(s, "p1")
	startRouter(s, "p2")
	s.Must("install")
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	requireNetwork(s, "m1 2 of 2 3 of 3", "n3 2 of 2 3 of 3", "4 nodes, no problems")
	// The fallback of the lab, by p1, has a higher metric than the routes of the routers.
	s.RequireTexts(s.Shell("n2", "ip route get "+rackAddress(1, 11)), "via "+rackAddress(2, 1))

	pods := startPods(s)
	across := []*pinger{startPing(s, "n2", pods["n1"]), startPing(s, "m1", pods["n3"])}
	inside := startPing(s, "n3", pods["n2"])

	// A router with a wrong number gets no session: the canary is as before, and the others keep what they have.
	before := s.Digests("/etc/deployer/bird.conf", []string{"m1", "n1", "n2", "n3"})
	routers["p2"] = wrong
	setRouters(s, routers)
	o = s.Deployer("install")
	if o.Code == 0 {
		t.Error("a router without a session was accepted")
	}
	s.RequireTexts(o.All(), "1 of 1 new sessions with routers are not established: router_p2")
	for node, digest := range s.Digests("/etc/deployer/bird.conf", []string{"m1", "n1", "n2", "n3"}) {
		if digest != before[node] {
			t.Errorf("%s has another bird.conf after a failed change", node)
		}
	}
	routers["p2"] = right
	setRouters(s, routers)
	s.Must("install")
	requireNetwork(s, "m1 3 of 3 3 of 3", "n3 3 of 3 3 of 3", "4 nodes, no problems")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireTexts(s.Shell("n2", "ip route show "+podRange(s, "n1")), "nexthop via 10.20.2.1", "nexthop via 10.20.2.2")
	sent, lost := 0, 0
	for _, p := range append(across, inside) {
		a, b := p.stop()
		sent, lost = sent+a, lost+a-b
	}
	total.pinged(sent, lost)
	t.Logf("while routers were added: %d of %d pings lost", lost, sent)
	if sent < 300 || lost > 0 {
		t.Errorf("while routers were added, %d of %d pings were lost, want none of at least 300", lost, sent)
	}

	// Services are reached from outside.
	s.RequireTexts(s.Shell("p2", "birdc -s /tmp/router.ctl show route for 10.96.0.0/16"), "10.96.0.0/16")
	s.RequireTexts(s.Shell("p2", "curl -sk --max-time 5 -o /dev/null -w '%{http_code}' https://10.96.0.1/version"), "401")

	routerDies(s, pods)
	s.Must("verify")
}

// connectRacks gives each node a network of its rack, and each router both, with a route to the other
// rack that does not depend on BGP, as a virtual address of the routers would be. The inventory has the nodes
// with these addresses, and without the routers.
func connectRacks(s *harness.Site) {
	s.T.Helper()
	run := func(argv ...string) {
		if out, err := s.Ctl(s.T.Context(), argv...); err != nil {
			s.T.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	connect := func(host string, rack, last int) {
		veth, inside := fmt.Sprintf("rack%d-%s", rack, host), fmt.Sprint("rack", rack)
		run("ip", "link", "add", veth, "type", "veth", "peer", "name", inside, "netns", plan.HostResource(s.Name, host))
		run("ip", "link", "set", veth, "master", fmt.Sprint("rack", rack), "up")
		s.Shell(host, fmt.Sprintf("ip address add %s/24 dev %s && ip link set %s up", rackAddress(rack, last), inside, inside))
	}
	for rack := 1; rack <= 2; rack++ {
		run("ip", "link", "add", fmt.Sprint("rack", rack), "type", "bridge")
		run("ip", "link", "set", fmt.Sprint("rack", rack), "up")
	}
	for router, last := range rackRouters {
		connect(router, 1, last)
		connect(router, 2, last)
		s.Shell(router, "sysctl -qw net.ipv4.ip_forward=1")
	}
	for node, at := range rackNodes {
		connect(node, at.rack, at.host)
		s.Shell(node, fmt.Sprintf("ip route add 10.20.%d.0/24 via %s metric 100", 3-at.rack, rackAddress(at.rack, rackRouters["p1"])))
	}
	s.Edit(func(inv map[string]any) {
		for router := range rackRouters {
			delete(harness.Section(inv, "hosts"), router)
		}
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1", "n2", "n3"}}
		for node, at := range rackNodes {
			h := harness.Section(inv, "hosts", node)
			h["node_address"], h["labels"] = rackAddress(at.rack, at.host), map[string]any{"rack": fmt.Sprint("r", at.rack)}
		}
	})
}

// setRouters sets the routers with the numbers of their autonomous systems.
func setRouters(s *harness.Site, routers map[string]int) {
	s.Edit(func(inv map[string]any) {
		var all []any
		for _, router := range []string{"p1", "p2"} {
			asn, ok := routers[router]
			if !ok {
				continue
			}
			for rack := 1; rack <= 2; rack++ {
				name := router
				if rack == 2 {
					name += "-b"
				}
				all = append(all, map[string]any{
					"name": name, "address": rackAddress(rack, rackRouters[router]), "asn": asn, "bfd": true, "ttl_security": true,
					"nodes": map[string]any{"rack": fmt.Sprint("r", rack)}, "accept": []any{"10.20.0.0/16"},
					"password": &yaml.Node{Kind: yaml.ScalarNode, Tag: "!secret", Value: "hunter2"},
				})
			}
		}
		harness.Section(inv, "cluster", "network")["bgp"] = map[string]any{"rack_label": "rack", "peers": all, "advertise": map[string]any{"cluster_ips": true}}
	})
}

// startRouter starts BIRD as a router of both racks.
func startRouter(s *harness.Site, router string) {
	s.T.Helper()
	last := rackRouters[router]
	config := "router id " + rackAddress(1, last) + `;
protocol device {}
protocol direct { ipv4; interface "rack*"; }
protocol kernel { ipv4 { import none; export where source = RTS_BGP; }; merge paths on; }
protocol bfd { interface "rack*" { interval 300 ms; multiplier 3; }; }
template bgp node { error wait time 1, 5; connect retry time 5; direct; ttl security on; bfd on; password "hunter2"; ipv4 { import all; export all; }; }
`
	for node, at := range rackNodes {
		config += fmt.Sprintf("protocol bgp %s from node { local %s as 65010; neighbor %s as 64512; }\n", node, rackAddress(at.rack, last), rackAddress(at.rack, at.host))
	}
	s.Shell(router, "cat >/tmp/router.conf <<'EOF'\n"+config+"EOF\nbird -c /tmp/router.conf -s /tmp/router.ctl -P /tmp/router.pid")
}

// routerDies switches off one of two routers, and on again. Pods ping across racks meanwhile.
func routerDies(s *harness.Site, pods map[string]string) {
	s.T.Helper()
	const transitions = `get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].lastTransitionTime}{"\n"}{end}'`
	before := s.Kubectl("m1", transitions)
	// The kernel chooses a router by both addresses: eight ways, there and back, take both of them.
	startAll := func() []*pinger {
		return []*pinger{startPing(s, "n2", pods["n1"]), startPing(s, "n2", pods["m1"]), startPing(s, "n3", pods["n1"]), startPing(s, "n3", pods["m1"])}
	}
	pings := startAll()
	forwardedBefore := forwarded(s, "p1")
	time.Sleep(2 * time.Second)
	if n := forwarded(s, "p1") - forwardedBefore; n < 20 {
		s.T.Errorf("p1 forwards %d packets in 2 s, so that its failure shows nothing", n)
	}
	s.Shell("p1", "ip link set rack1 down; ip link set rack2 down; kill -9 $(cat /tmp/router.pid)")
	time.Sleep(60 * time.Second) // a node without a lease is not Ready after 40 s
	for i, p := range pings {
		sent, answered := p.stop() // not counted with those of changes, which lose none
		s.T.Logf("a router was switched off: pair %d lost %d of %d pings", i, sent-answered, sent)
		if sent-answered > maxFailoverPings || sent < 300 {
			s.T.Errorf("pair %d lost %d of %d pings when one of two routers was switched off, want at most %d", i, sent-answered, sent, maxFailoverPings)
		}
	}
	if after := s.Kubectl("m1", transitions); after != before {
		s.T.Errorf("nodes were\n%s\nand are\n%s", before, after)
	}
	o := s.Run("network", "status", "-i", s.Inventory)
	s.RequireExit(o, 5)
	s.RequireTexts(o.Stdout, "router p1 (10.20.1.1) has no session: m1 (", "router p1-b (10.20.2.1) has no session: n2 (")
	s.RequireTexts(s.Must("install").All(), "0 changed")

	pings = startAll()
	s.Shell("p1", "ip link set rack1 up; ip link set rack2 up")
	startRouter(s, "p1")
	s.Eventually(90*time.Second, "the router has its sessions again", func() error {
		if o := s.Run("network", "status", "-i", s.Inventory); o.Code != 0 {
			return fmt.Errorf("%s", o.Stdout)
		}
		return nil
	})
	for i, p := range pings {
		sent, answered := p.stop()
		total.pinged(sent, sent-answered)
		s.T.Logf("the router is back: pair %d lost %d of %d pings", i, sent-answered, sent)
		if sent-answered > maxFailoverPings {
			s.T.Errorf("pair %d lost %d of %d pings when the router came back, want at most %d", i, sent-answered, sent, maxFailoverPings)
		}
	}
}

// forwarded returns the number of packets that a host has forwarded.
func forwarded(s *harness.Site, host string) (n int) {
	s.T.Helper()
	if _, err := fmt.Sscan(s.Shell(host, `awk '/^Ip: [0-9]/ {print $7}' /proc/net/snmp`), &n); err != nil {
		s.T.Fatal(err)
	}
	return n
}
