//go:build lab

package lifecycle

import "deployer/test/harness"

// haproxyCluster makes HAProxy, the default, the API proxy of nodes.
func haproxyCluster(s *site) { s.proxyKind("haproxy") }

// nginxCluster makes nginx the API proxy of nodes.
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

func haproxyReload(s *site) { s.proxiesReload("haproxy") }

func nginxReload(s *site) { s.proxiesReload("nginx") }

// proxiesReload removes a master from the cluster and adds it again: the API proxy of each minion
// gets its list of masters by reload.
func (s *site) proxiesReload(kind string) {
	s.T.Helper()
	before := map[string]string{}
	for _, n := range minions {
		before[n] = s.proxy(n, kind)
	}
	s.scaleDown("m3")
	s.requireMembers("m1", "m2")
	s.comeBack("m3")
	for _, n := range minions {
		if got := s.proxy(n, kind); got != before[n] {
			s.T.Errorf("%s: the main process of %s is %s, and was %s before: it must reload", n, kind, got, before[n])
		}
	}
}
