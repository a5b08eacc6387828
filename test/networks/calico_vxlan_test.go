//go:build lab

package networks

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestCalicoVXLAN installs a cluster whose pods are connected in VXLAN, with a second pool of
// addresses for the nodes of a rack. Packets of the full size that the network's MTU leaves pass.
func TestCalicoVXLAN(t *testing.T) {
	scenario(t)
	s := harness.New(t, "vxlan", plan.Spec{Masters: 1, Minions: 3})
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network")["plugin"] = "calico"
		harness.Section(inv, "cluster", "network")["calico"] = map[string]any{
			"encapsulation": "vxlan",
			"pools":         []any{map[string]any{"name": "rack-a", "cidr": "10.99.0.0/20", "node_selector": "rack == 'a'"}},
		}
		harness.Section(inv, "hosts", "n3")["labels"] = map[string]any{"rack": "a"}
	})
	s.Must("install")
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")

	pods := startPods(s)
	rack := netip.MustParsePrefix("10.99.0.0/20")
	if a := netip.MustParseAddr(pods["n1"]); rack.Contains(a) {
		t.Errorf("the pod of n1 has %s of the pool for rack a", a)
	}
	requireFullSize(s, pods["m1"], pods["n2"], pods["n3"])
	if out := s.Shell("n1", "ip route show dev vxlan.calico"); strings.Count(out, "onlink") < 3 {
		t.Errorf("the routes in VXLAN are %q, want one to each other node", out)
	}
	if out := s.Kubectl("m1", "get ippools.crd.projectcalico.org rack-a -o 'jsonpath={.spec.vxlanMode}'"); out != "Always" {
		t.Errorf("the VXLAN mode of the pool is %q", out)
	}
}

// requireFullSize pings addresses from the pod of n1 with packets of 1450 bytes, which VXLAN leaves of 1500.
func requireFullSize(s *harness.Site, addresses ...string) {
	s.T.Helper()
	sent, lost := 0, 0
	for _, to := range addresses {
		out := s.Shell("n1", inPod("ping -M do -s 1422 -i 0.05 -c 20 -W 1 "+to))
		var a, b int
		if m := pingCounts.FindStringSubmatch(out); m != nil {
			_, _ = fmt.Sscan(m[1]+" "+m[2], &a, &b)
		}
		sent, lost = sent+a, lost+a-b
	}
	total.pinged(sent, lost)
	if want := 20 * len(addresses); sent != want || lost > 0 {
		s.T.Errorf("%d of %d pings were lost, want none of %d", lost, sent, want)
	}
}

// TestVXLANCrossSubnet installs Calico in two racks with networks of their own and a router that knows nothing of
// pods: packets to the pods of the other rack travel in VXLAN, those in a rack as they are.
func TestVXLANCrossSubnet(t *testing.T) {
	scenario(t)
	s := harness.New(t, "crosssubnet", plan.Spec{Masters: 1, Minions: 3, Proxies: 2})
	connectRacks(s)
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network")["plugin"] = "calico"
		harness.Section(inv, "cluster", "network")["calico"] = map[string]any{"encapsulation": "vxlan-cross-subnet"}
	})
	s.Must("install")
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	requireNetwork(s, "4 nodes, no problems")

	pods := startPods(s)
	for node, way := range map[string]string{"m1": "via " + rackAddress(1, 11) + " dev rack1", "n2": "dev vxlan.calico", "n3": "dev vxlan.calico"} {
		s.RequireTexts(s.Shell("n1", "ip route get "+pods[node]), way)
	}
	requireFullSize(s, pods["m1"], pods["n2"], pods["n3"])
	if out := s.Kubectl("m1", "get ippools.crd.projectcalico.org default-ipv4-ippool -o 'jsonpath={.spec.vxlanMode}'"); out != "CrossSubnet" {
		t.Errorf("the VXLAN mode of the pool is %q", out)
	}
}
