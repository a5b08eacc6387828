//go:build lab

package networks

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/engine/probe"
	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestIPv6 installs a cluster whose hosts are reached by IPv6 only, and lets a node join. A packet
// filter drops IPv4 between the hosts.
func TestIPv6(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 3, Minions: 2, Proxies: 1})
	onlyIPv6(s, "n1")
	requireInstalled(s)
	s.RequireTexts(s.Must("kubeconfig").Stdout, "server: https://[fd00:172:31::16]:6443")
	s.Edit(func(inv map[string]any) { harness.Section(inv, "roles")["minion"] = []any{"n1", "n2"} })
	s.Must("scale-up")
	nodes := []string{"m1", "m2", "m3", "n1", "n2"}
	s.RequireReady(nodes)
	s.Must("verify")
	requireNetwork(s, "n2 4 of 4 4 of 4 fd00:10:244:4::/64", "5 nodes, no problems")
	requireIPv6(s, nodes)
}

// TestIPv6OfCalico is the same with Calico; a policy is enforced, and reflectors take the place of the mesh
// and give it back, under pings.
func TestIPv6OfCalico(t *testing.T) { ipv6OfCalico(t, "kubernetes") }

// TestInEtcdIPv6 is the same with Calico's objects in etcd.
func TestInEtcdIPv6(t *testing.T) { ipv6OfCalico(t, "etcd") }

func ipv6OfCalico(t *testing.T, datastore string) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 2})
	onlyIPv6(s, "n1")
	s.Edit(func(inv map[string]any) {
		network := harness.Section(inv, "cluster", "network")
		network["plugin"], network["calico"] = "calico", map[string]any{"datastore": datastore}
	})
	requireInstalled(s)
	s.Edit(func(inv map[string]any) { harness.Section(inv, "roles")["minion"] = []any{"n1", "n2"} })
	s.Must("scale-up")
	nodes := []string{"m1", "n1", "n2"}
	s.RequireReady(nodes)
	s.Must("verify")
	requireNetwork(s, "n2 2 of 2 2 of 2", "default-ipv6-ippool fd00:10:244::/56 3 of ", "3 nodes, no problems")
	requireIPv6(s, nodes)

	pods := startTalkers(s, nodes)
	reach := func() bool {
		return strings.Contains(s.Shell("n1", inTalker("curl -sS -m 2 http://"+netip.AddrPortFrom(netip.MustParseAddr(pods["n2"].ip), talkerPort).String()+"/ok")+" 2>&1; true"), "ok")
	}
	s.Shell("m1", `kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: nobody, namespace: default}
spec: {podSelector: {matchLabels: {app: talkers}}, policyTypes: [Ingress]}
EOF`)
	s.Eventually(30*time.Second, "the policy is enforced", func() error {
		if reach() {
			return fmt.Errorf("the pod of n2 is reached")
		}
		return nil
	})
	s.Kubectl("m1", "delete networkpolicy nobody")
	s.Eventually(30*time.Second, "the policy is gone", func() error {
		if !reach() {
			return fmt.Errorf("the pod of n2 is not reached")
		}
		return nil
	})
	reflectUnderPings(s, nodes, datastore)
}

// TestIPv6First gives a running cluster of IPv6 alone the addresses of IPv4 as its second family, while pods
// ping each other: nothing is lost. Primary addresses stay those of IPv6. Then a node joins.
func TestIPv6First(t *testing.T) {
	for _, plugin := range []string{"bgp", "calico"} {
		t.Run(plugin, func(t *testing.T) { ipv6First(t, plugin, "kubernetes") })
	}
}

// TestInEtcdIPv6First is the same with Calico's objects in etcd.
func TestInEtcdIPv6First(t *testing.T) { ipv6First(t, "calico", "etcd") }

func ipv6First(t *testing.T, plugin, datastore string) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3})
	s.Edit(func(inv map[string]any) {
		c := harness.Section(inv, "cluster")
		c["pod_cidr"], c["service_cidr"] = "fd00:10:244::/56", "fd00:10:96::/112"
		harness.Section(c, "network")["plugin"] = plugin
		if plugin == "calico" {
			harness.Section(c, "network", "calico")["datastore"] = datastore
		}
		for _, h := range s.Hosts {
			harness.Section(inv, "hosts", h.Name)["node_address"] = h.IPv6().String()
		}
		harness.Section(inv, "roles")["minion"] = []any{"n1", "n2"}
	})
	s.Must("install")
	pods := startTalkers(s, []string{"m1", "n1", "n2"})
	pings := []*talkerPing{startTalkerPing(s, "n1", pods["n2"].ip), startTalkerPing(s, "n2", pods["m1"].ip)}
	s.Edit(func(inv map[string]any) {
		c := harness.Section(inv, "cluster")
		c["pod_cidr"], c["service_cidr"] = "fd00:10:244::/56,10.244.0.0/16", "fd00:10:96::/112,10.96.0.0/16"
		for _, h := range s.Hosts {
			harness.Section(inv, "hosts", h.Name)["node_address"] = fmt.Sprintf("%s,%s", h.IPv6(), h.Address)
		}
	})
	requireInstalled(s)
	requireNothingLost(s, pings, 500)
	s.Edit(func(inv map[string]any) { harness.Section(inv, "roles")["minion"] = []any{"n1", "n2", "n3"} })
	s.Must("scale-up")
	nodes := []string{"m1", "n1", "n2", "n3"}
	s.RequireReady(nodes)
	s.RequireTexts(s.Must("verify").Stdout, "pod to pod, IPv4")
	requireNetwork(s, "n3 6 of 6 6 of 6", "4 nodes, no problems")
	s.Kubectl("m1", "delete service talkers")
	s.Kubectl("m1", "rollout restart daemonset/talkers")
	requireBothFamilies(s, nodes)
	for node, pod := range talkers(s) {
		if netip.MustParseAddr(pod.ip).Is4() {
			t.Errorf("the primary address of the pod of %s is %s", node, pod.ip)
		}
	}
}

// requireInstalled installs the cluster; the second time changes nothing.
func requireInstalled(s *harness.Site) {
	s.T.Helper()
	s.Must("install")
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
}

// onlyIPv6 gives the hosts IPv6 addresses alone, with some of them as minions: a packet filter drops IPv4
// between them.
func onlyIPv6(s *harness.Site, minions ...any) {
	s.T.Helper()
	known := filepath.Join(s.T.TempDir(), "known_hosts")
	var keys strings.Builder
	for _, h := range s.Hosts {
		s.Shell(h.Name, "nft add table ip lab; nft 'add chain ip lab input { type filter hook input priority -10; }'; nft add rule ip lab input ip saddr 172.31.0.0/24 ip saddr != 172.31.0.1 drop")
		for line := range strings.Lines(s.Shell(h.Name, "cat /etc/ssh/ssh_host_*_key.pub")) {
			fmt.Fprintf(&keys, "%s %s\n", h.IPv6(), strings.TrimSpace(line))
		}
	}
	if err := os.WriteFile(known, []byte(keys.String()), 0o600); err != nil {
		s.T.Fatal(err)
	}
	s.Edit(func(inv map[string]any) {
		c := harness.Section(inv, "cluster")
		c["pod_cidr"], c["service_cidr"] = "fd00:10:244::/56", "fd00:10:96::/112"
		harness.Section(c, "dns")["upstreams"] = []any{plan.ControllerIPv6().String()}
		harness.Section(inv, "ssh")["known_hosts"] = known
		for _, h := range s.Hosts {
			harness.Section(inv, "hosts")[h.Name] = map[string]any{"address": h.IPv6().String()}
		}
		harness.Section(inv, "roles")["minion"] = minions
	})
}

// requireIPv6 requires that pods of each node, which have IPv6 addresses only, reach those of the others, the
// Service, node ports, cluster DNS and a server outside.
func requireIPv6(s *harness.Site, nodes []string) {
	s.T.Helper()
	pods := startTalkers(s, nodes)
	var targets []probe.Target
	for _, pod := range pods {
		targets = append(targets, talkerTarget(pod.ip, talkerPort))
	}
	for _, h := range s.Hosts {
		if _, ok := pods[h.Name]; ok {
			targets = append(targets, talkerTarget(h.IPv6().String(), 30080))
		}
	}
	targets = append(targets, talkerTarget(s.Kubectl("m1", "get service talkers -o 'jsonpath={.spec.clusterIP}'"), 80),
		probe.Target{Kind: "dns", Name: "talkers.default.svc.cluster.local.", Family: probe.FamilyIPv6}, probe.Target{Kind: "tcp", Address: outsideAddress})
	sources := outsideServer(s)
	for _, node := range nodes {
		if pods[node].further != "" || netip.MustParseAddr(pods[node].ip).Is4() {
			s.T.Errorf("the pod of %s has the addresses %v", node, pods[node])
		}
		requireReached(s, node, pods[node], targets)
		if source := <-sources; !plan.SubnetIPv6().Contains(source) {
			s.T.Errorf("a connection from a pod to the outside comes from %s", source)
		}
	}
}
