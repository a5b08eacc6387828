//go:build lab

package networks

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// manager is the address behind which SSH finds all hosts, on a port each.
const manager = "172.31.0.1"

// TestAddresses installs a cluster whose hosts have a network for management, in which they do not
// reach each other, and one for the nodes. SSH reaches all of them at one address. Their node
// addresses are chosen by the network; clients outside use the external address of the API proxy.
func TestAddresses(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 3, Minions: 1, Proxies: 1})
	nodes, all := []string{"m1", "m2", "m3", "n1"}, []string{"m1", "m2", "m3", "n1", "p1"}
	for i, host := range all {
		secondNetwork(s, host, i)
	}
	known := filepath.Join(t.TempDir(), "known_hosts")
	s.Edit(func(inv map[string]any) {
		inv["node_network"] = "10.0.0.0/8"
		harness.Section(inv, "ssh")["known_hosts"] = known
		for i, host := range all {
			h := harness.Section(inv, "hosts", host)
			h["address"], h["ssh"] = manager, map[string]any{"port": 2201 + i}
		}
		harness.Section(inv, "hosts", "m1")["external_address"] = "203.0.113.1"
	})
	for i, host := range all {
		forward(s, known, host, 2201+i)
	}

	o := s.Deployer("install")
	s.RequireExit(o, 2)
	s.RequireTexts(o.All(), "node_network 10.0.0.0/8 selects the node addresses of m[1:3], n1, p1", "deployer inventory addresses")
	record := strings.TrimSuffix(s.Inventory, ".yaml") + ".addresses.yaml"
	s.Shell("m2", "ip address add 10.20.0.99/24 dev eth1")
	o = s.Run("inventory", "addresses", "-i", s.Inventory)
	s.RequireExit(o, 3)
	s.RequireTexts(o.All(), "the host has several: 10.20.0.12 (eth1), 10.20.0.99 (eth1)")
	s.Shell("m2", "ip address del 10.20.0.99/24 dev eth1")
	o = s.Run("inventory", "addresses", "-i", s.Inventory)
	s.RequireExit(o, 0)
	content, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for i, host := range all {
		s.RequireTexts(string(content), fmt.Sprintf("\n%s: %q\n", host, nodeAddress(i)))
	}

	s.Must("install")
	s.Must("verify")
	for i, node := range nodes {
		if got := strings.TrimSpace(s.Kubectl("m1", "get node "+node+` -o 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}'`)); got != nodeAddress(i) {
			t.Errorf("node %s has the address %q", node, got)
		}
	}
	for _, host := range all {
		if found := s.Shell(host, "grep -rlF 172.31.0. /etc/kubernetes /etc/deployer /etc/systemd/system /var/lib/kubelet/config.yaml 2>/dev/null || true"); found != "" && host != "p1" {
			t.Errorf("files of %s have addresses of the network for management:\n%s", host, found)
		}
	}
	s.RequireTexts(s.Must("kubeconfig").Stdout, "server: https://"+net.JoinHostPort(nodeAddress(4), "6443"))

	// Clients outside get an address: the proxy listens there without a restart, and the API servers
	// get new certificates.
	s.Edit(func(inv map[string]any) { harness.Section(inv, "hosts", "p1")["external_address"] = s.Address("p1") })
	const started = "systemctl show -p ExecMainStartTimestampMonotonic deployer-proxy.service"
	before := s.Shell("p1", started)
	s.Must("install")
	if after := s.Shell("p1", started); after != before {
		t.Errorf("the proxy was restarted: %s, before %s", after, before)
	}
	requireAPI(s)
	s.RequireTexts(s.Shell("m1", "openssl x509 -noout -ext subjectAltName -in /etc/kubernetes/pki/apiserver/apiserver.crt"), "IP Address:203.0.113.1", "IP Address:10.20.0.11")

	// The way of SSH is no setting of the cluster.
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "hosts")["m2"] = map[string]any{"address": s.Address("m2"), "node_address": nodeAddress(1)}
		harness.Section(inv, "ssh")["host_keys"] = "accept-new"
	})
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)

	networkdConfigures(s, "n1")

	// A mistake is refused before anything changes.
	s.Edit(func(inv map[string]any) { harness.Section(inv, "hosts", "n1")["node_address"] = "10.20.0.77" })
	o = s.Deployer("install")
	s.RequireExit(o, refused)
	s.RequireTexts(o.All(), "no interface of the host has the address", nodeAddress(3))
}

func nodeAddress(i int) string { return fmt.Sprintf("10.20.0.%d", 11+i) }

// networkdConfigures lets systemd-networkd configure the nodes' network of a node, as `netplan apply`
// does: the routes to the pods of other nodes stay, without a gap. Without deployer's settings it
// removes them.
func networkdConfigures(s *harness.Site, node string) {
	s.T.Helper()
	const (
		bird     = "ip -4 route show proto bird"
		settings = "/etc/systemd/networkd.conf.d/90-deployer.conf"
		// A host of the lab has no udev; networkd does not wait for it when /sys cannot be written.
		start = `mkdir -p /run/systemd/system/systemd-networkd.service.d /run/systemd/network
printf '[Service]\nReadOnlyPaths=/sys\n' >/run/systemd/system/systemd-networkd.service.d/lab.conf
printf '[Match]\nName=eth1\n[Network]\nLinkLocalAddressing=no\nKeepConfiguration=static\n' >/run/systemd/network/10-nodes.network
systemctl daemon-reload && systemctl restart systemd-networkd && sleep 2
timeout 10 ip -4 monitor route >/tmp/routes 2>&1 </dev/null &
sleep 0.5; networkctl reconfigure eth1; sleep 2; networkctl status eth1`
		lost = "grep 'Deleted.*proto bird' /tmp/routes || true"
	)
	before := s.Shell(node, bird)
	if strings.Count(before, " via ") < 3 {
		s.T.Fatalf("%s has the routes %q to pods, want those to 3 nodes", node, before)
	}
	s.RequireTexts(s.Shell(node, start), "(configured)")
	if out := s.Shell(node, lost); out != "" {
		s.T.Errorf("systemd-networkd has removed routes of %s:\n%s", node, out)
	}
	if after := s.Shell(node, bird); after != before {
		s.T.Errorf("the routes of %s were\n%s\nand are\n%s", node, before, after)
	}
	s.Shell(node, "mv "+settings+" /root/")
	s.RequireTexts(s.Shell(node, start), "(configured)")
	if s.Shell(node, lost) == "" {
		s.T.Errorf("systemd-networkd leaves the routes of %s without %s, too: this test shows nothing", node, settings)
	}
	s.Shell(node, "systemctl stop systemd-networkd; mv /root/90-deployer.conf "+settings)
}

// secondNetwork connects a host to a bridge of the nodes, beside a bridge as docker makes it and an
// address as VRRP has it. In the first network, the host reaches only the controller from now on.
func secondNetwork(s *harness.Site, host string, i int) {
	s.T.Helper()
	const bridge = "nodes0"
	var commands [][]string
	if i == 0 {
		commands = [][]string{{"ip", "link", "add", bridge, "type", "bridge"}, {"ip", "link", "set", bridge, "up"}}
	}
	commands = append(commands,
		[]string{"ip", "link", "add", "nodes-" + host, "type", "veth", "peer", "name", "eth1", "netns", plan.HostResource(s.Name, host)},
		[]string{"ip", "link", "set", "nodes-" + host, "master", bridge, "up"},
		[]string{"bridge", "link", "set", "dev", host, "isolated", "on"},
	)
	for _, argv := range commands {
		if out, err := s.Ctl(s.T.Context(), argv...); err != nil {
			s.T.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	s.Shell(host, fmt.Sprintf("ip address add %s/24 dev eth1 && ip link set eth1 up && ip address add 10.20.0.%d/32 dev eth1", nodeAddress(i), 100+i))
	s.Shell(host, "ip link add docker0 type bridge && ip address add 10.17.0.1/16 dev docker0 && ip link set docker0 up")
}

// forward forwards a port of the controller to the SSH server of a host, as NAT does, and adds the
// host's key to a file of known hosts.
func forward(s *harness.Site, known, host string, port int) {
	s.T.Helper()
	address := net.JoinHostPort(manager, fmt.Sprint(port))
	listener, err := s.Listen(address)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = listener.Close() })
	to := net.JoinHostPort(s.Address(host), "22")
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				defer conn.Close()
				server, err := s.Dial(s.T.Context(), "tcp", to)
				if err != nil {
					return
				}
				defer server.Close()
				go func() {
					_, _ = io.Copy(server, conn)
					_ = server.(*net.TCPConn).CloseWrite()
				}()
				_, _ = io.Copy(conn, server)
			}()
		}
	}()
	keys, err := os.ReadFile(s.Files.KnownHosts())
	if err != nil {
		s.T.Fatal(err)
	}
	f, err := os.OpenFile(known, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.T.Fatal(err)
	}
	defer f.Close()
	for line := range strings.Lines(string(keys)) {
		if key, ok := strings.CutPrefix(line, host+","+s.Address(host)+" "); ok {
			fmt.Fprintf(f, "[%s]:%d %s", manager, port, key)
		}
	}
}

// requireAPI asks the API with the kubeconfig for clients outside.
func requireAPI(s *harness.Site) {
	s.T.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(s.Must("kubeconfig").Stdout))
	if err != nil {
		s.T.Fatal(err)
	}
	if want := "https://" + s.Address("p1") + ":6443"; config.Host != want {
		s.T.Errorf("clients outside use %s, want %s", config.Host, want)
	}
	config.Dial = s.Dial
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		s.T.Fatal(err)
	}
	response, err := client.Get(config.Host + "/api/v1/nodes")
	if err != nil {
		s.T.Fatalf("a client outside: %v", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		s.T.Errorf("a client outside gets %s", response.Status)
	}
}
