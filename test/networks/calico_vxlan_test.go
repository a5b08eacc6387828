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
	sent, lost := 0, 0
	for _, to := range []string{"m1", "n2", "n3"} {
		// 1450 bytes are what VXLAN leaves of 1500.
		out := s.Shell("n1", inPod("ping -M do -s 1422 -i 0.05 -c 20 -W 1 "+pods[to]))
		var a, b int
		if m := pingCounts.FindStringSubmatch(out); m != nil {
			_, _ = fmt.Sscan(m[1]+" "+m[2], &a, &b)
		}
		sent, lost = sent+a, lost+a-b
	}
	total.pinged(sent, lost)
	if sent != 60 || lost > 0 {
		t.Errorf("%d of %d pings were lost, want none of 60", lost, sent)
	}
	if out := s.Shell("n1", "ip route show dev vxlan.calico"); strings.Count(out, "onlink") < 3 {
		t.Errorf("the routes in VXLAN are %q, want one to each other node", out)
	}
	if out := s.Kubectl("m1", "get ippools.crd.projectcalico.org rack-a -o 'jsonpath={.spec.vxlanMode}'"); out != "Always" {
		t.Errorf("the VXLAN mode of the pool is %q", out)
	}
}
