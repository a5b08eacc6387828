package roles_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestVirtualIPWitnesses: every witness has one, every host that may have the address asks all
// witnesses for a majority of them, and nothing of it is on other hosts.
func TestVirtualIPWitnesses(t *testing.T) {
	const witness, keepalived = "/etc/deployer/virtual-ip.conf", "/etc/deployer/keepalived.conf"
	for name, tt := range map[string]struct {
		holders, witnesses, others []string
		majority                   string
	}{
		"virtual-ip":    {[]string{"m1", "m2", "m3"}, []string{"m1", "m2", "m3"}, []string{"n1"}, "nbsrv(votes) ge 2"},
		"virtual-proxy": {[]string{"p1", "p2"}, []string{"m1", "p1", "p2"}, []string{"n1"}, "nbsrv(votes) ge 2"},
	} {
		s := newSite(t, name)
		for _, host := range slices.Concat(tt.witnesses, tt.others) {
			files := s.files(t, host)
			votes := regexp.MustCompile(`(?s)backend votes.*?\n\n`).FindString(files[witness])
			holds := slices.Contains(tt.holders, host)
			if got := files[witness] != ""; got != slices.Contains(tt.witnesses, host) {
				t.Errorf("%s: %s is a witness: %t", name, host, got)
			}
			if got := files[keepalived] != ""; got != holds || strings.Contains(files[witness], tt.majority) != holds {
				t.Errorf("%s: %s may have the address: %t\n%s", name, host, got, files[witness])
			}
			for _, other := range tt.witnesses {
				if strings.Contains(votes, "  server "+other+" ") != holds {
					t.Errorf("%s: %s asks %s for its vote: %t, want %t\n%s", name, host, other, !holds, holds, votes)
				}
			}
			if holds && !strings.Contains(votes, "rstring '^(none|"+host+")$'") {
				t.Errorf("%s: %s takes other answers for votes:\n%s", name, host, votes)
			}
			for _, other := range tt.holders {
				if peer := s.cluster.Nodes[other].IP + "\n"; holds && other != host && !strings.Contains(files[keepalived], peer) {
					t.Errorf("%s: %s does not advertise to %s:\n%s", name, host, other, files[keepalived])
				}
			}
		}
	}
}

// TestVirtualIPLoadBalancer: a load balancer listens on the address before it has it.
func TestVirtualIPLoadBalancer(t *testing.T) {
	s := newSite(t, "virtual-proxy")
	if got := s.files(t, "p2")["/etc/deployer/haproxy.conf"]; !strings.Contains(got, "\n  bind 192.0.2.100:6443 transparent\n") {
		t.Errorf("p2 does not listen on the virtual address:\n%s", got)
	}
	if got := newSite(t, "apart-haproxy").files(t, "p1")["/etc/deployer/haproxy.conf"]; strings.Contains(got, "transparent") {
		t.Errorf("without a virtual address the load balancer has\n%s", got)
	}
}
