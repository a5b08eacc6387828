package roles_test

import (
	"strings"
	"testing"

	"deployer/project"
)

// TestAddressesOfSSH: no file of a host has the address of an SSH server. The API proxy listens on
// its external address where the host has it.
func TestAddressesOfSSH(t *testing.T) {
	for name, proxy := range map[string]struct{ file, listens string }{
		"addresses":       {"/etc/deployer/haproxy.conf", "bind"},
		"addresses-nginx": {"/etc/deployer/nginx.conf", "listen"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, name)
			for _, host := range project.ClusterHosts(s.inv, s.cluster) {
				for path, content := range s.files(t, host) {
					if strings.Contains(content, "198.51.100.") {
						t.Errorf("%s of %s has the address of an SSH server", path, host)
					}
				}
			}
			node, external := proxy.listens+" 10.0.0.5:6443", proxy.listens+" 203.0.113.5:6443"
			if got := s.files(t, "p1")[proxy.file]; !strings.Contains(got, node) || strings.Contains(got, external) {
				t.Errorf("the proxy that has no external address of its own has the configuration\n%s", got)
			}
			s.found["facts"].(map[string]any)["addresses"] = []any{"198.51.100.5", "10.0.0.5", "203.0.113.5"}
			if got := s.files(t, "p1")[proxy.file]; !strings.Contains(got, node) || !strings.Contains(got, external) {
				t.Errorf("the proxy that has the external address has the configuration\n%s", got)
			}
		})
	}
}
