//go:build lab

package networks

import (
	"errors"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestPluginBack replaces Calico on a cluster in use by the plugin bgp. Pods of all nodes ping each
// other all the time: none of the pings between two nodes that do not change is lost, whichever
// plugins the two have. Policies need a flag. A node that does not pass gets Calico back, a run that is
// killed in the middle of a node is continued, and nothing of Calico is left at the end.
func TestPluginBack(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3})
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network")["plugin"] = "calico"
		harness.Section(inv, "cluster", "network", "calico")["typha"] = "always"
	})
	s.Must("install")
	startPods(s)
	s.Shell("m1", `kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: nobody, namespace: kube-public}
spec: {podSelector: {}, policyTypes: [Ingress]}
---
apiVersion: crd.projectcalico.org/v1
kind: GlobalNetworkSet
metadata: {name: partners}
spec: {nets: [192.0.2.0/24]}
EOF`)

	s.Edit(func(inv map[string]any) {
		network := harness.Section(inv, "cluster", "network")
		network["plugin"] = "bgp"
		delete(network, "calico")
	})
	o := s.Deployer("install")
	s.RequireExit(o, refused)
	s.RequireTexts(o.All(), "the cluster was installed with calico", "change it with deployer network change-plugin")
	o = s.Deployer("network", "change-plugin", "--yes")
	s.RequireExit(o, refused)
	s.RequireTexts(o.All(), "NetworkPolicy kube-public/nobody", "GlobalNetworkSet partners", "--drop-policies")
	change := []string{"network", "change-plugin", "--drop-policies"}
	check := strings.Join(strings.Fields(s.Must(append(change, "--check", "-v")...).All()), " ")
	s.RequireTexts(check, "without effect from the change of each node on: NetworkPolicy kube-public/nobody", "n3 differs drain the node", "n3 differs plugin-change-bgp: end the pods of the former network", "CustomResourceDefinition ippools.crd.projectcalico.org")
	change = append(change, "--yes")

	nodes := []string{"m1", "n1", "n2", "n3"}
	pings := startMesh(s, nodes)

	// BIRD does not start: the change of the first node fails, and it gets Calico back.
	for _, node := range nodes[1:] {
		s.Shell(node, "mkdir -p /etc/systemd/system/deployer-bird.service.d; printf '[Service]\\nExecStart=\\nExecStart=/bin/false\\n' >/etc/systemd/system/deployer-bird.service.d/broken.conf; systemctl daemon-reload")
	}
	o = s.Deployer(change...)
	if o.Code == 0 {
		t.Fatalf("the change succeeds without BIRD:\n%s", o.All())
	}
	for _, node := range nodes[1:] {
		s.Shell(node, "rm -r /etc/systemd/system/deployer-bird.service.d; systemctl daemon-reload; test -e /etc/cni/net.d/10-calico.conflist; test ! -e /etc/cni/net.d/10-deployer.conflist; test ! -e /etc/deployer/former-network-plugin")
		s.RequireSchedulable(node, "after the restore")
	}
	pings.require(t, "after a restore")

	s.KillAtOutput("end the pods of the former network", change...)
	killed := s.Deployer("install")
	s.RequireExit(killed, refused)
	s.RequireTexts(killed.All(), "installed with calico", "deployer network change-plugin")

	s.Must(change...)
	pings.require(t, "at the end")
	sent, lost := pings.end(t)
	total.pinged(sent, lost)
	t.Logf("plugin change pings=%d lost=%d", sent, lost)
	if lost > 0 || sent < 1000 {
		t.Errorf("%d of %d pings were lost, want none of at least 1000", lost, sent)
	}
	if err := errors.Join(pings.errors...); err != nil {
		t.Error(err)
	}

	s.RequireReady(nodes)
	s.Must("verify")
	requireNetwork(s, "pod network bgp, full mesh", "m1 3 of 3", "n3 3 of 3", "4 nodes, no problems")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireTexts(s.Must(change...).All(), "0 changed")
	requireNoCalico(s, nodes)
}

// requireNoCalico requires that neither hosts nor the API have anything of Calico, or routes of the change.
func requireNoCalico(s *harness.Site, nodes []string) {
	s.T.Helper()
	for _, node := range nodes {
		left := s.Shell(node, `
for v in iptables-nft iptables-legacy ip6tables-nft ip6tables-legacy; do $v-save 2>/dev/null | grep -E 'cali[-:]'; done
ipset list -n 2>/dev/null | grep ^cali
nft list ruleset | grep -E 'cali[-:]'
ip -o link show | grep cali
ip rule | grep -E '4097|32010'; ip -6 rule | grep -E '4097|32010'
ip route show table 4097 2>/dev/null; ip route show proto 80
ip route show type blackhole
ls -d /opt/cni/bin/bandwidth /etc/cni/net.d/10-calico.conflist /etc/kubernetes/calico-*.conf /etc/kubernetes/pki/calico-* /etc/kubernetes/manifests/calico-*.yaml /etc/deployer/standby-routes /etc/systemd/system/deployer-standby-routes.service /opt/cni/bin/calico* /var/lib/calico /run/calico 2>/dev/null
pgrep -x calico-node; pgrep -x calico-typha
true`)
		if strings.TrimSpace(left) != "" {
			s.T.Errorf("%s has of the former network: %s", node, left)
		}
	}
	if left := s.Kubectl("m1", "get crd,clusterroles,clusterrolebindings -o name | grep -iE 'projectcalico|:calico-' || true"); strings.TrimSpace(left) != "" {
		s.T.Errorf("the API has of Calico: %s", left)
	}
	if left := s.Kubectl("m1", "-n kube-system get deployments,pods,services,secrets,serviceaccounts,poddisruptionbudgets,roles -o name | grep calico || true"); strings.TrimSpace(left) != "" {
		s.T.Errorf("kube-system has of Calico: %s", left)
	}
	if left := s.Kubectl("m1", "get nodes -o yaml | grep projectcalico || true"); strings.TrimSpace(left) != "" {
		s.T.Errorf("nodes have of Calico: %s", left)
	}
}
