//go:build lab

package lifecycle

import "deployer/test/harness"

// haproxyCluster makes HAProxy the API proxy of nodes.
func haproxyCluster(s *site) { s.proxyKind("haproxy") }

// nginxCluster makes nginx, the default, the API proxy of nodes.
func nginxCluster(s *site) { s.proxyKind("nginx") }

// proxyKind sets the program of the API proxies, also for the following scenarios.
func (s *site) proxyKind(kind string) {
	s.T.Helper()
	s.fullCluster()
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "proxy")["kind"] = kind })
	s.suite.full = s.inventory()
	s.Must("install")
	for _, n := range minions {
		s.proxy(n, kind)
	}
}

// haproxyReload removes a master from the cluster and adds it again: the HAProxy of
// each minion gets its list of masters by reload.
func haproxyReload(s *site) {
	before := map[string]string{}
	for _, n := range minions {
		before[n] = s.proxy(n, "haproxy")
	}
	s.scaleDown("m3")
	s.requireMembers("m1", "m2")
	s.comeBack("m3")
	for _, n := range minions {
		if got := s.proxy(n, "haproxy"); got != before[n] {
			s.T.Errorf("%s: the main process of HAProxy is %s, and was %s before: it must reload", n, got, before[n])
		}
	}
}
