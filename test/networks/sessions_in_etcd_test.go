//go:build lab

package networks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// etcdSteps are changes of the sessions of a cluster whose Calico has its objects in etcd.
var etcdSteps = []struct {
	name           string
	authentication string
	reflectors     []any
	router         bool
}{
	{"to reflectors", "auto", []any{"m1", "n1"}, false},
	{"to another reflector, with a router", "auto", []any{"m1", "n2"}, true},
	{"without a password", "none", []any{"m1", "n2"}, true},
	{"to a mesh with a password, without the router", "md5", nil, false},
}

// TestSessionsInEtcd changes the BGP sessions of a cluster whose Calico has its objects in etcd: from a mesh
// with a password to reflectors, to others, with a router and without a password, and back, while pods of
// all nodes ping each other. A wrong password of the router is put back on the first node.
func TestSessionsInEtcd(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 2, Proxies: 1})
	nodes := []string{"m1", "n1", "n2"}
	router := s.Address("p1")
	set := func(authentication string, reflectors []any, routerPassword string) {
		s.Edit(func(inv map[string]any) {
			network := harness.Section(inv, "cluster", "network")
			network["plugin"], network["calico"] = "calico", map[string]any{"datastore": "etcd"}
			network["authentication"] = authentication
			delete(network, "reflectors")
			delete(network, "bgp")
			if reflectors != nil {
				network["reflectors"] = reflectors
			}
			if routerPassword != "" {
				network["bgp"] = map[string]any{"peers": []any{map[string]any{"name": "edge", "address": router, "asn": 65010, "accept": []any{"203.0.113.0/24"},
					"password": &yaml.Node{Kind: yaml.ScalarNode, Tag: "!secret", Value: routerPassword}}}}
			}
		})
	}
	s.Edit(func(inv map[string]any) {
		delete(harness.Section(inv, "hosts"), "p1")
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1", "n2"}}
	})
	set("auto", nil, "")
	s.Must("install")
	startPods(s)
	ofMasters := func() string { return strings.TrimSpace(s.Shell("m1", "cat /etc/kubernetes/bgp-password")) }
	requirePassword(s, nodes, ofMasters())
	s.RequireTexts(s.Must("install").All(), "0 changed")
	pings := startMesh(s, nodes)
	pings.require(t, "before")

	startEdgeRouter(s, router, nodes)
	set("auto", nil, "wrong")
	o := s.Deployer("install")
	if o.Code == 0 {
		t.Error("a router without a session was accepted")
	}
	s.RequireTexts(o.All(), "new sessions with routers are not established", "which has its former sessions")
	pings.require(t, "after a router with a wrong password")

	for _, c := range etcdSteps {
		password := ""
		if c.router {
			password = "hunter2"
		}
		set(c.authentication, c.reflectors, password)
		s.Must("install")
		requireReflectorsInEtcd(s, c.reflectors)
		if !c.router {
			requirePassword(s, nodes, ofMasters())
		}
		if c.router {
			requireRouterAccepted(s, router, nodes)
		}
		requireNetwork(s, "3 nodes, no problems")
		s.RequireTexts(s.Must("install").All(), "0 changed")
		s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
		pings.require(t, c.name)
	}
	s.Must("verify")
	sent, lost := pings.end(t)
	total.pinged(sent, lost)
	t.Logf("sessions in etcd pings=%d lost=%d", sent, lost)
	if lost > 0 || sent < 1000 {
		t.Errorf("%d of %d pings were lost, want none of at least 1000", lost, sent)
	}
	if err := errors.Join(pings.errors...); err != nil {
		t.Error(err)
	}
	if left := s.Shell("m1", "calicoctl get bgppeers; calicoctl get bgpfilters"); strings.Contains(left, "deployer-") {
		t.Errorf("a mesh without routers has %q", left)
	}
}

// startEdgeRouter starts a router on p1 that has sessions with nodes, with a password.
func startEdgeRouter(s *harness.Site, router string, nodes []string) {
	s.T.Helper()
	config := "router id " + router + ";\nprotocol device {}\nprotocol static { ipv4; route 198.51.100.0/24 blackhole; route 203.0.113.0/24 blackhole; }\n"
	for _, node := range nodes {
		config += fmt.Sprintf("protocol bgp %s { local %s as 65010; neighbor %s as 64512; error wait time 1, 5; connect retry time 5; password \"hunter2\"; ipv4 { import all; export where source = RTS_STATIC; }; }\n", node, router, s.Address(node))
	}
	s.Shell("p1", "cat >/tmp/router.conf <<'EOF'\n"+config+"EOF\nbird -c /tmp/router.conf -s /tmp/router.ctl -P /tmp/router.pid")
}

// requireRouterAccepted requires that nodes have the accepted route of the router, and no other.
func requireRouterAccepted(s *harness.Site, router string, nodes []string) {
	s.T.Helper()
	for _, node := range nodes {
		out := s.Shell(node, "ip route show proto bird")
		if !strings.Contains(out, "203.0.113.0/24 via "+router) || strings.Contains(out, "198.51.100.0/24") {
			s.T.Errorf("routes of %s: %s", node, out)
		}
	}
}

// requireReflectorsInEtcd requires that nodes, and no others, are reflectors in Calico's etcd.
func requireReflectorsInEtcd(s *harness.Site, want []any) {
	s.T.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct {
				BGP struct{ RouteReflectorClusterID string }
			}
		}
	}
	if err := json.Unmarshal([]byte(s.Shell("m1", "calicoctl get nodes -o json")), &list); err != nil {
		s.T.Fatal(err)
	}
	got := []any{}
	for _, n := range list.Items {
		if n.Spec.BGP.RouteReflectorClusterID != "" {
			got = append(got, n.Metadata.Name)
		}
	}
	if !slices.Equal(got, want) {
		s.T.Errorf("the reflectors are %v, want %v", got, want)
	}
}
