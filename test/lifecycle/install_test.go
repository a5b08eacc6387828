//go:build lab

package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"deployer/test/harness"
)

// The full cluster.
var (
	masters = []string{"m1", "m2", "m3"}
	minions = []string{"n1", "n2", "n3"}
	nodes   = slices.Concat(masters, minions)
)

// setRoles sets the hosts of the inventory's roles.
func (s *site) setRoles(masters, minions []string) {
	s.T.Helper()
	s.Edit(func(inv map[string]any) {
		roles := harness.Section(inv, "roles")
		roles["master"], roles["minion"] = masters, minions
	})
}

// smallCluster installs one master and two minions.
func smallCluster(s *site) {
	s.setRoles([]string{"m1"}, []string{"n1", "n2"})
	s.Must("install")
	s.suite.target = s.ProberTarget("n1", "n2")
}

// hostsJoin adds a new minion and then two new masters to the inventory. On the other
// minions only programs restart whose configuration contains the masters.
func hostsJoin(s *site) {
	before, proxies := s.processes("m1", "n1", "n2"), map[string]string{}
	for _, n := range []string{"n1", "n2"} {
		proxies[n] = s.proxy(n, "nginx")
	}
	s.setRoles([]string{"m1"}, minions)
	s.Must("scale-up")
	s.requireProcesses(before, "when a minion joined")
	s.setRoles(masters, minions)
	s.Must("scale-up")
	s.RequireTexts(s.Must("scale-up").Stderr, "nothing to do")
	s.RequireReady(nodes)
	s.requireMembers(masters...)
	delete(before, "m1")
	s.requireProcesses(before, "when masters joined", "nginx")
	for _, n := range []string{"n1", "n2"} {
		if got := s.proxy(n, "nginx"); got != proxies[n] {
			s.T.Errorf("%s: the main process of the API proxy is %s, and was %s before masters joined: it must reload", n, got, proxies[n])
		}
	}
	s.suite.target = s.ProberTarget(minions...)
}

// proxy returns the process id and the start time of the main process of a node's API
// proxy, which a reload leaves alone.
func (s *site) proxy(node, program string) string {
	s.T.Helper()
	return s.Shell(node, `p=$(pgrep -o -x `+program+`) && echo "$p $(cut -d' ' -f22 /proc/$p/stat)"`)
}

// etcdctl runs etcdctl on a master, against the member there.
func (s *site) etcdctl(master, args string) string {
	s.T.Helper()
	const pki = "/etc/kubernetes/pki/etcd/"
	return s.Shell(master, "etcdctl --endpoints https://127.0.0.1:2379 --cacert "+pki+"ca.crt --cert "+pki+"healthcheck-client.crt --key "+pki+"healthcheck-client.key "+args)
}

// requireMembers checks that etcd has these members, started and with a vote.
func (s *site) requireMembers(want ...string) {
	s.T.Helper()
	var got []string
	for line := range strings.Lines(s.etcdctl(want[0], "member list")) {
		// The columns of the line are ID, status, name, peers, clients and learner.
		if f := strings.Split(strings.TrimSpace(line), ", "); len(f) == 6 && f[1] == "started" && f[5] == "false" {
			got = append(got, f[2])
		} else {
			got = append(got, fmt.Sprintf("[%s]", strings.TrimSpace(line)))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.T.Errorf("members of etcd: %v, want %v", got, want)
	}
}

// unchanged checks that install changes nothing.
func (s *site) unchanged(when string) {
	s.T.Helper()
	events, r := s.Events(s.Must("install", "--output", "json"))
	if r.Changed() != 0 {
		s.T.Errorf("install %s changed %v, want nothing", when, harness.ChangedSteps(events))
	}
}
