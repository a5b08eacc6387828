package roles_test

import (
	"strings"
	"testing"
)

// TestHostFirewall: the packet filter names ports of the host's roles only, and is loaded by a unit.
func TestHostFirewall(t *testing.T) {
	s := newSite(t, "addresses")
	const file, unit = "/etc/deployer/firewall.nft", "/etc/systemd/system/deployer-firewall.service"
	for host, want := range map[string]struct{ has, hasNot []string }{
		"m1": {has: []string{
			"set etcd4 { type ipv4_addr; flags interval; auto-merge; elements = { 10.0.0.1, 10.0.0.2, 10.0.0.3, 10.9.0.0/16 }; }",
			"set etcd6 { type ipv6_addr; flags interval; auto-merge; }",
			"set kubelet4 { type ipv4_addr; flags interval; auto-merge; elements = { 10.0.0.0/24, 10.244.0.0/16, 10.9.0.0/16 }; }",
			"tcp dport { 2379, 2380 } reject", "tcp dport 10250 reject",
		}},
		"n1": {has: []string{"tcp dport 10250 reject"}, hasNot: []string{"2379", "etcd4"}},
	} {
		files := s.files(t, host)
		if !strings.Contains(files[unit], "nft -f "+file) {
			t.Errorf("%s does not load %s:\n%s", host, file, files[unit])
		}
		for _, text := range want.has {
			if !strings.Contains(files[file], text) {
				t.Errorf("%s of %s lacks %q:\n%s", file, host, text, files[file])
			}
		}
		for _, text := range want.hasNot {
			if strings.Contains(files[file], text) {
				t.Errorf("%s of %s has %q:\n%s", file, host, text, files[file])
			}
		}
	}
	if got := s.files(t, "p1")[file]; got != "" {
		t.Errorf("a host of role proxy has the filter\n%s", got)
	}
}
