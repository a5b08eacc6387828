//go:build lab

package networks

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// disturbance is something that the administrator of a host does to its network.
type disturbance struct {
	name   string
	do     string        // commands on the host, without its network
	healed string        // command on the host that succeeds when all is as before; empty: nothing is lost
	away   time.Duration // time for which do itself takes the network away
	limit  disturbanceLimit
}

// disturbanceLimit has the maximum times without network, without the time of away.
type disturbanceLimit struct{ pods, service, outside, healed time.Duration }

// TestNetworkServices restarts the network services that hosts of Debian may have, systemd-networkd, NetworkManager
// and ifupdown, flushes the packet filter and takes an interface down, each on a node of a cluster in use, and
// measures for how long a pod of the node has no network. Another resolv.conf is named by verify.
func TestNetworkServices(t *testing.T) {
	for _, plugin := range []string{"bgp", "calico"} {
		t.Run(plugin, func(t *testing.T) {
			scenario(t)
			s := harness.New(t, "services", plan.Spec{Masters: 1, Minions: 2}, "ifupdown", "network-manager")
			s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "network")["plugin"] = plugin })
			if plugin == "bgp" { // with Calico each node finds its MTU by itself
				smallestInterface(s)
			}
			s.Must("install")
			pods := startPods(s)
			if plugin == "bgp" {
				requirePodMTU(s, pods["n2"])
			}
			n := &serviceNode{site: s, name: "n1", plugin: plugin, pod: pods["n2"], service: talkersService(s)}
			n.networkd()
			n.networkManager()
			n.ifupdown()
			n.packetFilter()
			n.resolvConf()
			s.Must("verify")
			s.RequireTexts(s.Must("network", "status").All(), "3 nodes, no problems")
			s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
		})
	}
}

// podMTU is the MTU of the interface of a node, which is below those of the others.
const podMTU = 1400

// smallestInterface gives a node an interface with a small MTU to the other nodes, and one with a smaller MTU that
// leads nowhere.
func smallestInterface(s *harness.Site) {
	s.T.Helper()
	s.Shell("n2", fmt.Sprintf("ip link set eth0 mtu %d; ip link add spare type bridge; ip link set spare mtu 1280 up; ip address add 198.51.100.1/24 dev spare", podMTU))
}

// requirePodMTU requires that pods of all nodes have the MTU of smallestInterface, and that packets of this size reach
// the other node's pod.
func requirePodMTU(s *harness.Site, other string) {
	s.T.Helper()
	for _, node := range []string{"m1", "n1", "n2"} {
		if got := s.Shell(node, inPod("ip -o link show dev eth0")); !strings.Contains(got, fmt.Sprintf(" mtu %d ", podMTU)) {
			s.T.Errorf("a pod of %s has the interface %s, want the MTU %d", node, got, podMTU)
		}
	}
	const headers = 28 // of IP and ICMP
	s.Shell("n1", inPod(fmt.Sprintf("ping -M do -s %d -c 3 -i 0.2 -W 1 %s", podMTU-headers, other)))
}

// serviceNode is the node whose network is disturbed.
type serviceNode struct {
	site         *harness.Site
	name, plugin string
	pod, service string // addresses of the other node's pod and of a Service
}

// networkd lets systemd-networkd configure the node's interface, beside a file for all interfaces.
func (n *serviceNode) networkd() {
	// A host of the lab has no udev; networkd and NetworkManager do not wait for it when /sys cannot be written.
	n.exec(`mkdir -p /run/systemd/system/systemd-networkd.service.d
printf '[Service]\nReadOnlyPaths=/sys\n' >/run/systemd/system/systemd-networkd.service.d/lab.conf
printf '[Match]\nName=eth0\n[Network]\nAddress=` + n.cidr() + `\nGateway=` + manager + `\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n' >/etc/systemd/network/10-nodes.network
printf '[Match]\nName=*\n[Network]\nDHCP=yes\n' >/etc/systemd/network/90-all.network
systemctl daemon-reload && systemctl start systemd-networkd && sleep 3`)
	n.requireUnmanaged(`networkctl list --no-legend | awk '{print $2, $5}'`)
	settled := disturbanceLimit{pods: time.Second, service: 2 * time.Second, outside: 2 * time.Second}
	n.disturb(disturbance{name: "systemctl restart systemd-networkd", do: "systemctl restart systemd-networkd", limit: settled})
	n.disturb(disturbance{name: "networkctl reconfigure eth0", do: "networkctl reconfigure eth0", limit: settled})
	n.disturb(disturbance{name: "ip link set eth0 down, up after 3 s", do: "ip link set eth0 down; sleep 3; ip link set eth0 up", away: 3 * time.Second,
		limit: disturbanceLimit{pods: 10 * time.Second, service: 10 * time.Second, outside: 10 * time.Second}})
	n.exec("systemctl stop systemd-networkd systemd-networkd.socket; rm /etc/systemd/network/10-nodes.network /etc/systemd/network/90-all.network")
}

// networkManager lets NetworkManager configure the node's interface.
func (n *serviceNode) networkManager() {
	n.exec(`mkdir -p /run/systemd/system/NetworkManager.service.d
printf '[Service]\nReadOnlyPaths=/sys\n' >/run/systemd/system/NetworkManager.service.d/lab.conf
cat >/etc/NetworkManager/system-connections/nodes.nmconnection <<'EOF'
[connection]
id=nodes
type=ethernet
interface-name=eth0
[ipv4]
method=manual
address1=` + n.cidr() + `,` + manager + `
dns=` + manager + `;
[ipv6]
method=ignore
EOF
chmod 600 /etc/NetworkManager/system-connections/nodes.nmconnection
systemctl daemon-reload && systemctl start NetworkManager && sleep 3 && nmcli connection up nodes && sleep 5`)
	n.requireUnmanaged(`nmcli -t -f DEVICE,STATE device | sed 's/:/ /'`)
	n.disturb(disturbance{name: "systemctl restart NetworkManager", do: "systemctl restart NetworkManager", limit: disturbanceLimit{pods: time.Second, service: 2 * time.Second, outside: 2 * time.Second}})
	n.disturb(disturbance{name: "nmcli connection up eth0", do: "nmcli connection up nodes", limit: disturbanceLimit{pods: 5 * time.Second, service: 5 * time.Second, outside: 5 * time.Second}})
	n.exec("systemctl stop NetworkManager; rm /etc/NetworkManager/system-connections/nodes.nmconnection")
}

// ifupdown lets ifupdown configure the node's interface.
func (n *serviceNode) ifupdown() {
	n.exec(`printf 'auto eth0\niface eth0 inet static\n  address ` + n.cidr() + `\n  gateway ` + manager + `\n' >/etc/network/interfaces.d/nodes
ip address flush dev eth0; ip link set eth0 down; systemctl start networking && sleep 5`)
	n.disturb(disturbance{name: "systemctl restart networking", do: "systemctl restart networking", limit: disturbanceLimit{pods: 5 * time.Second, service: 5 * time.Second, outside: 5 * time.Second}})
	n.exec("rm /etc/network/interfaces.d/nodes")
}

// packetFilter removes all rules of the node's packet filter.
func (n *serviceNode) packetFilter() {
	rules, limit := "nft list table ip deployer_pods >/dev/null", 10*time.Second
	if n.plugin == "calico" {
		rules, limit = "iptables-save | grep -q -- '-A cali-FORWARD'", 40*time.Second
	}
	n.disturb(disturbance{name: "nft flush ruleset", do: "nft flush ruleset", healed: "nft list ruleset | grep -q KUBE-SVC- && " + rules,
		limit: disturbanceLimit{pods: time.Second, service: 40 * time.Second, outside: limit, healed: 40 * time.Second}})
}

// resolvConf gives the node another name server, which does not exist. Names resolve as before, and verify names the
// pods of cluster DNS that have the former one.
func (n *serviceNode) resolvConf() {
	s := n.site
	node := s.Kubectl("m1", "-n kube-system get pods -l k8s-app=kube-dns -o 'jsonpath={.items[0].spec.nodeName}'")
	n.site.Shell(node, "cp /etc/resolv.conf /root/ && echo nameserver 172.31.0.250 >/etc/resolv.conf")
	o := s.Deployer("verify")
	s.RequireTexts(o.All(), "started with the name servers "+manager+"; the host has 172.31.0.250 now")
	if o.Code == 0 {
		s.T.Errorf("verify has no problem with another resolv.conf")
	}
	n.site.Shell(node, "cp /root/resolv.conf /etc/resolv.conf")
}

// disturb does something to the node, waits until it is healed, and compares the times without network with their
// limits.
func (n *serviceNode) disturb(d disturbance) {
	n.site.T.Helper()
	routes := n.routes()
	measured := startOutages(n.site, n.name, n.pod, n.service)
	n.exec(d.do)
	begin := time.Now()
	n.site.Eventually(5*time.Minute, "the network of "+n.name+" is as before "+d.name, func() error {
		if d.healed != "" {
			if _, err := n.site.Exec(n.site.T.Context(), n.name, "sh", "-c", d.healed); err != nil {
				return errors.New("rules are missing")
			}
		}
		if now := n.routes(); now != routes {
			return fmt.Errorf("routes are\n%s\nand were\n%s", now, routes)
		}
		return nil
	})
	healed := time.Since(begin)
	time.Sleep(4 * time.Second)
	got := measured.end()
	n.site.T.Logf("outage: %s: %s: %s; as before after %.1f s", n.plugin, d.name, got, healed.Seconds())
	for what, times := range map[string][2]time.Duration{"other pods": {got.Pods, d.limit.pods}, "Services": {got.Service, d.limit.service}, "addresses outside": {got.Outside, d.limit.outside}} {
		if most := times[1] + d.away; times[0] > most {
			n.site.T.Errorf("%s: %s: no network to %s for %.1f s, want at most %s", n.plugin, d.name, what, times[0].Seconds(), most)
		}
	}
	if d.limit.healed > 0 && healed > d.limit.healed {
		n.site.T.Errorf("%s: %s: rules are back after %.1f s, want at most %s", n.plugin, d.name, healed.Seconds(), d.limit.healed)
	}
}

// routes returns the node's routes to the pods of other nodes.
func (n *serviceNode) routes() string {
	n.site.T.Helper()
	return n.exec("ip -4 route show proto bird | sort")
}

// requireUnmanaged requires that a network service leaves the interfaces of pods alone. The command lists interfaces
// with the service's state of each.
func (n *serviceNode) requireUnmanaged(list string) {
	n.site.T.Helper()
	found := 0
	for line := range strings.Lines(n.exec(list)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "cni0" && !strings.HasPrefix(f[0], "veth") && !strings.HasPrefix(f[0], "cali") {
			continue
		}
		if found++; f[1] != "unmanaged" {
			n.site.T.Errorf("the network service has %s as %s", f[0], f[1])
		}
	}
	if found == 0 {
		n.site.T.Error("the network service lists no interface of a pod")
	}
}

// exec runs commands on the node without its network.
func (n *serviceNode) exec(commands string) string {
	n.site.T.Helper()
	out, err := n.site.Exec(n.site.T.Context(), n.name, "bash", "-c", commands)
	if err != nil {
		n.site.T.Fatalf("%s: %s: %v\n%s", n.name, commands, err, out)
	}
	return strings.TrimSpace(out)
}

// cidr returns the node's address with the length of its prefix.
func (n *serviceNode) cidr() string { return n.site.Address(n.name) + "/24" }

// talkersService makes a Service of the pods of startPods and returns its address.
func talkersService(s *harness.Site) string {
	s.T.Helper()
	s.Shell("m1", `kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'
apiVersion: v1
kind: Service
metadata: {name: talkers, namespace: default}
spec: {selector: {app: talkers}, ports: [{port: `+fmt.Sprint(talkersPort)+`}]}
EOF`)
	return s.Kubectl("m1", "get service talkers -o 'jsonpath={.spec.clusterIP}'")
}
