//go:build lab

package networks

import (
	"errors"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestPluginChange replaces the plugin bgp of a cluster in use by Calico. Pods of all nodes ping each
// other all the time: none of the pings between two nodes that do not change is lost, whichever
// plugins the two have. A node on which Calico does not become ready gets its former network back, a
// run that is killed in the middle of a node is continued, and the other commands refuse the cluster
// meanwhile.
func TestPluginChange(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3})
	s.Must("install")
	startPods(s)

	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "network")["plugin"] = "calico" })
	for _, verb := range []string{"install", "upgrade"} {
		o := s.Deployer(verb)
		s.RequireExit(o, refused)
		s.RequireTexts(o.All(), "the cluster was installed with bgp", "change it with deployer network change-plugin")
	}
	check := s.Must("network", "change-plugin", "--check")
	s.RequireTexts(strings.Join(strings.Fields(check.All()), " "), "n3 differs drain the node", "n3 differs plugin-change: end the pods of the former network")

	nodes := []string{"m1", "n1", "n2", "n3"}
	pings := startMesh(s, nodes)

	// Without an answer of Felix, which it waits for.
	closed := "nft add table ip closed; nft add chain ip closed input '{ type filter hook input priority 0; }'; nft add rule ip closed input tcp dport 9099 drop"
	for _, node := range []string{"n1", "n2", "n3"} {
		s.Shell(node, closed)
	}
	o := s.Deployer("network", "change-plugin", "--yes")
	if o.Code == 0 {
		t.Fatalf("the change succeeds without an answer of Felix:\n%s", o.All())
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		s.Shell(node, "nft delete table ip closed; test -e /etc/cni/net.d/10-deployer.conflist; test ! -e /etc/cni/net.d/10-calico.conflist; test ! -e /etc/deployer/former-network-plugin")
		s.RequireSchedulable(node, "after the restore")
	}
	pings.require(t, "after a restore")

	s.KillAtOutput("end the pods of the former network", "network", "change-plugin", "--yes")
	killed := s.Deployer("install")
	s.RequireExit(killed, refused)
	s.RequireTexts(killed.All(), "installed with bgp", "deployer network change-plugin")

	s.Must("network", "change-plugin", "--yes")
	pings.require(t, "at the end")
	sent, lost := pings.end(t)
	total.pinged(sent, lost)
	t.Logf("plugin change pings=%d lost=%d", sent, lost)
	if lost > 0 || sent < 1000 {
		t.Errorf("%d of %d pings were lost, want none of at least 1000", lost, sent)
	}

	s.RequireReady(nodes)
	s.Must("verify")
	requireNetwork(s, "pod network calico, encapsulation none, full mesh", "m1 3 of 3", "n3 3 of 3", "4 nodes, no problems")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireTexts(s.Must("network", "change-plugin", "--yes").All(), "0 changed")
	for _, node := range nodes {
		left := s.Shell(node, `ls /etc/systemd/system/deployer-bird.service /etc/deployer/standby-routes /etc/deployer/bird.conf 2>/dev/null; ip rule | grep 4097; ip -o link show dev cni0 2>/dev/null; nft list tables | grep deployer_pods; true`)
		if strings.TrimSpace(left) != "" {
			t.Errorf("%s has of the former network: %s", node, left)
		}
	}
	policies(s, podsOf(s))
	if err := errors.Join(pings.errors...); err != nil {
		t.Error(err)
	}
}
