package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/cluster/networkstatus"
)

// serveBIRD answers on BIRD's control socket of a host with a table of sessions.
func (c *certifiedSite) serveBIRD(host int, lines ...string) {
	c.t.Helper()
	socket := filepath.Join(c.fleet.Hosts[host].Root, "/run/bird/bird.ctl")
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		c.t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "0001 BIRD 2.0.12 ready.\n")
			_, _ = bufio.NewReader(conn).ReadString('\n')
			fmt.Fprint(conn, "2002-Name Proto Table State Since Info\n")
			for _, line := range lines {
				fmt.Fprintf(conn, "1002-%s\n", line)
			}
			fmt.Fprint(conn, "0000 \n")
			_ = conn.Close()
		}
	}()
}

// TestNetworkStatusOfEachPlugin: hosts are examined with every plugin.
func TestNetworkStatusOfEachPlugin(t *testing.T) {
	c := newCertifiedSite(t)
	text, err := os.ReadFile("inventory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for plugin, title := range map[string]string{
		"{plugin: none}":          "pod network none: another program connects the pods\n",
		"{plugin: bgp, cni: ptp}": "pod network bgp, full mesh\n",
		"{plugin: calico}":        "pod network calico, encapsulation none, full mesh\n",
		"{plugin: calico, calico: {encapsulation: vxlan}}":             "pod network calico, encapsulation vxlan\n",
		"{plugin: calico, calico: {encapsulation: ipip-cross-subnet}}": "pod network calico, encapsulation ipip-cross-subnet, full mesh\n",
	} {
		changed := strings.Replace(string(text), "cluster:\n", "cluster:\n    network: "+plugin+"\n", 1)
		if changed == string(text) {
			t.Fatalf("no section cluster in\n%s", text)
		}
		c.write("inventory.yaml", changed)
		out, _ := c.deployer(exitUnhealthy, "network", "status")
		requireTexts(t, out, title, "n001  CNI: /etc/cni/net.d has no configuration, so pods get no network\n")
		if strings.Contains(out, "could not be examined") {
			t.Errorf("%s: %s", plugin, out)
		}
	}
}

// TestNetworkStatus shows a session, a missing route with its cause, pods with too large packets, and
// texts of a hostile BIRD, while the API does not answer.
func TestNetworkStatus(t *testing.T) {
	c := newCertifiedSite(t)
	routes := "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\neth0 00000000 0100090A 0003 0 0 0 00000000 0 0 0\n"
	for i := range 2 {
		c.writeHostFile(i, "/etc/cni/net.d/10-deployer.conflist", fmt.Sprintf(`{"plugins":[{"type":"bridge","ipam":{"ranges":[[{"subnet":"10.244.%d.0/24"}]]}}]}`, i))
		c.writeHostFile(i, "/sys/class/net/eth0/mtu", []string{"1500", "1400"}[i])
		c.writeHostFile(i, "/proc/net/route", routes)
		c.writeHostFile(i, "/var/lib/cni/networks/deployer/10.244.0.2", "")
	}
	c.writeHostFile(0, "/proc/net/route", routes+"eth0 0001F40A 0200090A 0003 0 0 32 00FFFFFF 0 0 0\n")
	c.serveBIRD(0, "to_n002 BGP --- up 14:00:07.123 Established")
	c.serveBIRD(1, "to_n001 BGP --- start 14:00:07.123 Connect Socket: \x1b[2JNo route to host")

	out, _ := c.deployer(exitUnhealthy, "network", "status")
	requireTexts(t, out,
		"pod network bgp, full mesh\n",
		"n001  1 of 1    1 of 1  10.244.0.0/24  1 of 253   1500  1400     MTU\n",
		"n002  0 of 1    0 of 1  10.244.1.0/24  1 of 253   1500  1400     sessions, routes, MTU\n",
		"cluster  Kubernetes API: ",
		"n002  sessions: not established: n001 (Connect Socket: No route to host)\n  the hosts do not reach each other",
		"n002  routes: no established session leads to the pods 10.244.0.0/24 of n001\n  establish the sessions first",
		"cluster  MTU: the MTU of pods is 1500 on n001, n002, and packets to other nodes may have 1400 bytes: eth0 of n002 has the MTU 1400\n  run deployer apply, which gives new pods the MTU 1400",
		"\n2 nodes, 4 problems\n",
	)
	if strings.Contains(out, "\x1b") {
		t.Errorf("an escape sequence of a host: %q", out)
	}

	c.fleet.Hosts[1].Stop()
	out, _ = c.deployer(exitUnhealthy, "network", "status", "-o", "json")
	var status networkstatus.Status
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		t.Fatal(err)
	}
	if len(status.Hosts) != 2 || status.Hosts[1].Failure == "" || status.Hosts[0].Sessions[0].State != "Established" {
		t.Errorf("%s", out)
	}
	if out, _ = c.deployer(exitUnhealthy, "network", "status", "--limit", "n001"); strings.Contains(out, "n002  ") || !strings.Contains(out, "\n1 node, 1 problem\n") {
		t.Error(out)
	}
}
