//go:build lab

package networks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestHostFirewall closes the ports of etcd and kubelets of a cluster in use, lets masters and a
// minion join and leave behind them, and opens the ports again.
func TestHostFirewall(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 3, Minions: 2, Hosts: 1})
	hosts := map[string]any{}
	for _, host := range []string{"m2", "m3", "n2"} {
		hosts[host] = map[string]any{"address": s.Address(host)}
	}
	s.Edit(func(inv map[string]any) {
		delete(harness.Section(inv, "hosts"), "h1") // a stranger
		for host := range hosts {
			delete(harness.Section(inv, "hosts"), host)
		}
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1"}}
	})
	// The stranger has an address in the network of the hosts, and one in another network.
	const far = "10.50.0.5"
	s.Shell("h1", "ip address add "+far+"/32 dev eth0")
	for _, host := range []string{"m1", "n1"} {
		s.Shell(host, "ip route add "+far+" via "+s.Address("h1"))
	}
	s.Must("install")
	requireOpen(s, "h1", s.Address("h1"), "m1", 2379, true)
	requireOpen(s, "h1", far, "n1", 10250, true)

	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network")["host_firewall"] = map[string]any{"enabled": true}
	})
	s.Must("install")
	requireClosed(s, far, "m1")
	requireOpen(s, "h1", far, "n1", 10250, false)
	requireOpen(s, "n1", s.Address("n1"), "m1", 2379, false)
	requireOpen(s, "m1", s.Address("m1"), "n1", 10250, true)
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")

	s.Shell("m1", "nft flush ruleset")
	s.Eventually(30*time.Second, "the filter is loaded again", func() error {
		if isOpen(s, "h1", s.Address("h1"), "m1", 2379) {
			return fmt.Errorf("a stranger reaches etcd")
		}
		return nil
	})

	s.Edit(func(inv map[string]any) {
		for host, settings := range hosts {
			harness.Section(inv, "hosts")[host] = settings
		}
		inv["roles"] = map[string]any{"master": []any{"m1", "m2", "m3"}, "minion": []any{"n1", "n2"}}
	})
	s.Must("scale-up")
	s.Must("verify")
	for _, host := range []string{"m1", "m2", "m3"} {
		requireClosed(s, far, host)
		for _, other := range []string{"m1", "m2", "m3"} {
			if other != host {
				requireOpen(s, other, s.Address(other), host, 2380, true)
			}
		}
	}
	s.RequireTexts(s.Must("install").All(), "0 changed")

	s.Must("scale-down", "m[2:3]", "--yes", "--allow-masters")
	requireOpen(s, "m3", s.Address("m3"), "m1", 2379, false)
	if left := s.Shell("m3", "nft list tables; ls /etc/deployer 2>/dev/null || true"); strings.Contains(left, "firewall") {
		t.Errorf("m3 has left the cluster, and has its filter:\n%s", left)
	}

	s.Edit(func(inv map[string]any) {
		delete(harness.Section(inv, "cluster", "network"), "host_firewall")
		for _, host := range []string{"m2", "m3"} {
			delete(harness.Section(inv, "hosts"), host)
		}
		harness.Section(inv, "roles")["master"] = []any{"m1"}
	})
	s.Must("install")
	requireOpen(s, "h1", s.Address("h1"), "m1", 2379, true)
	if left := s.Shell("n1", "nft list tables"); strings.Contains(left, "firewall") {
		t.Errorf("the firewall is off, and n1 has\n%s", left)
	}
	s.Must("verify")
}

// isOpen reports whether a host connects from one of its addresses to a port of another host.
func isOpen(s *harness.Site, host, from, to string, port int) bool {
	s.T.Helper()
	out := s.Shell(host, fmt.Sprintf("curl -sk --noproxy '*' --connect-timeout 2 --interface %s https://%s:%d/ -o /dev/null; echo exit $?", from, s.Address(to), port))
	return !strings.HasSuffix(out, "exit 7") && !strings.HasSuffix(out, "exit 28") // refused, timed out; others come after the connection
}

func requireOpen(s *harness.Site, host, from, to string, port int, want bool) {
	s.T.Helper()
	if got := isOpen(s, host, from, to, port); got != want {
		s.T.Errorf("%s reaches port %d of %s from %s: %t, want %t", host, port, to, from, got, want)
	}
}

// requireClosed checks that a stranger reaches neither etcd nor the kubelet of a master.
func requireClosed(s *harness.Site, far, master string) {
	s.T.Helper()
	requireOpen(s, "h1", s.Address("h1"), master, 2379, false)
	requireOpen(s, "h1", s.Address("h1"), master, 2380, false)
	if master == "m1" { // which has a route back
		requireOpen(s, "h1", far, master, 10250, false)
	}
}
