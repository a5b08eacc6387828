package roles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"deployer/project"
)

// The files of the standby routes.
const (
	standbyRoutes = "/etc/deployer/standby-routes"
	standbyUnit   = "/etc/systemd/system/deployer-standby-routes.service"
)

// TestStandbyRoutes: while BGP sessions or the network plugin change, a node has a route to the pods of
// each other node, of all families.
func TestStandbyRoutes(t *testing.T) {
	sessions := func(sample string) *site {
		s := newSite(t, sample)
		if text, ok := s.files(t, "m1")[standbyRoutes]; ok {
			t.Errorf("%s: without a change of sessions: %s", sample, text)
		}
		s.changeSessions(t)
		return s
	}
	for name, s := range map[string]*site{
		"sessions": sessions("nginx"), "sessions of two families": sessions("dual-stack"), "plugin": newSiteOf(t, "calico", "network-plugin"),
	} {
		lines := strings.Split(strings.TrimSpace(s.files(t, "m1")[standbyRoutes]), "\n")[1:]
		ranges, wanted := s.found["pod_cidrs"].(map[string]any), 0
		for _, host := range project.ClusterHosts(s.inv, s.cluster) {
			if !s.cluster.Nodes[host].IsNode || host == "m1" {
				continue
			}
			for i, pods := range strings.Split(ranges[host].(string), ",") {
				wanted++
				if line := fmt.Sprintf("route replace table 4097 %s via %s metric 4096 protocol 215", pods, s.cluster.Nodes[host].IPs[i]); !slices.Contains(lines, line) {
					t.Errorf("%s: no %q in %q", name, line, lines)
				}
			}
		}
		if wanted == 0 || len(lines) != wanted {
			t.Errorf("%s: %d routes, want %d: %q", name, len(lines), wanted, lines)
		}
	}
}

// TestPresentRoutesStandBy: while sessions of Calico change, the standby routes are those that BIRD has.
func TestPresentRoutesStandBy(t *testing.T) {
	s := newSite(t, "calico")
	none := calicoSessions(s.cluster)
	none["needed"] = true
	plan := s.found["etcd_plan"].(map[string]any)
	s.found["facts"].(map[string]any)["memory_bytes"] = 4 << 30
	s.found["calico_sessions"], plan["bootstrap"] = none, false
	s.found["standby_present"] = map[string]any{"stdout": "10.244.1.0/26 via 10.0.0.4 dev eth0\nfd00::40/122 via fd00::4 dev eth0\n"}
	want := "# Written by deployer.\n" +
		"route replace table 4097 10.244.1.0/26 via 10.0.0.4 dev eth0 metric 4096 protocol 215\n" +
		"route replace table 4097 fd00::40/122 via fd00::4 dev eth0 metric 4096 protocol 215\n"
	if got := s.files(t, "m1")[standbyRoutes]; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStandbyRules: the kernel asks the table of standby routes when the main table has no route that is
// longer than the shortest range of pods.
func TestStandbyRules(t *testing.T) {
	for sample, want := range map[string][]string{
		"nginx":      {"-4 rule add pref 32010 lookup main suppress_prefixlength 15", "-4 rule add pref 32011 lookup 4097"},
		"dual-stack": {"-4 rule add pref 32010 lookup main suppress_prefixlength 15", "-6 rule add pref 32010 lookup main suppress_prefixlength 55", "-6 rule add pref 32011 lookup 4097"},
	} {
		s := newSite(t, sample)
		s.changeSessions(t)
		unit := s.files(t, "m1")[standbyUnit]
		for _, rule := range want {
			if !strings.Contains(unit, "ExecStart=/usr/sbin/ip "+rule+"\n") {
				t.Errorf("%s: no %q in\n%s", sample, rule, unit)
			}
		}
		if added := strings.Count(unit, " rule add "); sample == "nginx" && added != 2 {
			t.Errorf("%s: %d rules, want 2", sample, added)
		}
	}
}

// TestStandbyRoutesBack: while bgp takes the place of Calico, a node has routes to the blocks of other
// nodes, too.
func TestStandbyRoutesBack(t *testing.T) {
	s := newSiteOf(t, "haproxy", "network-plugin-bgp")
	lines := strings.Split(strings.TrimSpace(s.files(t, "m1")[standbyRoutes]), "\n")
	route := "route replace table 4097 10.244.98.0/26 via " + s.cluster.Nodes["n1"].IP + " metric 4096 protocol 215"
	if !slices.Contains(lines, route) || slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "10.244.99.0/26") }) {
		t.Errorf("want %q and no route to a block of the node itself in %q", route, lines)
	}
}
