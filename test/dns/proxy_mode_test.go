//go:build lab

package dns

import (
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// proxyRules prints what kube-proxy has written on a host: its tables of nftables, and its chains of iptables. The other
// chains whose names begin with KUBE- are the kubelet's.
const proxyRules = `nft list tables | grep -w kube-proxy
for save in iptables-save ip6tables-save; do
  $save 2>/dev/null | grep -oE '^:KUBE-(SERVICES|NODEPORTS|SVC-[A-Z0-9]+|SEP-[A-Z0-9]+|EXTERNAL-SERVICES|FORWARD|POSTROUTING|MARK-MASQ|PROXY-CANARY|PROXY-FIREWALL)'
done
true`

// proxyGap is the number of lookups that a change of the mode may cost: on each node new connections to Services are refused from
// the end of the former kube-proxy's rules to the first rules of the next one, for two names every 50 ms.
const proxyGap = 400

// TestProxyMode changes the mode of kube-proxy of a cluster in use, and back, while pods resolve names through the
// Service of cluster DNS.
func TestProxyMode(t *testing.T) {
	s := harness.New(t, "dns", plan.Spec{Masters: 1, Minions: 2})
	mode := func(name string) {
		s.Edit(func(inv map[string]any) {
			harness.Section(inv, "cluster", "kube_proxy")["mode"] = name
		})
	}
	mode("iptables")
	s.Must("install")
	c := newClients(s, "n1", "n2")
	nodes := []string{"m1", "n1", "n2"}
	require := func(nft bool) {
		t.Helper()
		for _, node := range nodes {
			rules := s.Shell(node, proxyRules)
			if strings.Contains(rules, "table ip kube-proxy") != nft || strings.Contains(rules, ":KUBE-SERVICES") == nft || nft && strings.Contains(rules, ":KUBE-") || !nft && strings.Contains(rules, "table ") {
				t.Errorf("%s has the rules (of nftables: %v):\n%s", node, nft, rules)
			}
		}
	}
	require(false)
	mode("nftables")
	c.while("from iptables to nftables", proxyGap, func() { s.Must("install") })
	require(true)
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.Must("verify")
	mode("iptables")
	c.while("from nftables to iptables", proxyGap, func() { s.Must("install") })
	require(false)
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.Must("verify")
}
