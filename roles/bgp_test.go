package roles_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"deployer/project"
)

// route is a route of a neighbour.
type route struct{ prefix, hop string }

// TestBGPFiltersAcceptOwnRangesOnly evaluates the BIRD filters of every node of a mesh
// and of a cluster with route reflectors: a neighbour may announce its own range, and
// only a reflector those of others, each with the address of its node unless the reflector is a
// master.
func TestBGPFiltersAcceptOwnRangesOnly(t *testing.T) {
	for _, sample := range []string{"nginx", "haproxy", "dual-stack"} {
		s := newSite(t, sample)
		for _, host := range project.ClusterHosts(s.inv, s.cluster) {
			node := s.cluster.Nodes[host]
			if !node.IsNode {
				continue
			}
			for i := range s.cluster.PodCIDRs {
				s.checkFilters(t, host, i)
			}
		}
	}
}

// checkFilters evaluates the filters of a node for the routes of a family, by its index.
func (s *site) checkFilters(t *testing.T, host string, family int) {
	t.Helper()
	rangeOf := func(name string) string {
		return strings.Split(s.found["pod_cidrs"].(map[string]any)[name].(string), ",")[family]
	}
	foreign := []route{{"0.0.0.0/0", "10.9.9.9"}, {"::/0", "fd00::9:9"}}[family]
	outside := []string{"192.0.2.0/24", "2001:db8::/64"}[family]
	node, conf := s.cluster.Nodes[host], s.files(t, host)["/etc/deployer/bird.conf"]
	for _, peer := range node.BGP.Peers {
		ip := s.cluster.Nodes[peer.Name].IPs[family]
		accepts := importFilter(t, conf, ip)
		own := rangeOf(peer.Name)
		check := func(what string, r route, want bool) {
			if accepts(r) != want {
				t.Errorf("%s takes %s from %s: %t, want %t", host, what, peer.Name, !want, want)
			}
		}
		half := netip.MustParsePrefix(own)
		check("its range", route{own, ip}, true)
		check("its range by somebody else", route{own, foreign.hop}, false)
		check("a default route", route{foreign.prefix, ip}, false)
		check("a half of its range", route{netip.PrefixFrom(half.Addr(), half.Bits()+1).String(), ip}, false)
		check("all pods", route{s.cluster.PodCIDRs[family], ip}, false)
		check("a network outside", route{outside, ip}, false)
		check("the node's own range", route{rangeOf(host), ip}, false)
		check("the node's own range of another", route{rangeOf(host), foreign.hop}, false)
		for _, third := range s.cluster.NodeNames {
			if third == host || third == peer.Name {
				continue
			}
			r := rangeOf(third)
			check("the range of "+third+" for itself", route{r, ip}, false)
			check("the range of "+third, route{r, s.cluster.Nodes[third].IPs[family]}, slices.Contains(s.cluster.Network.Reflectors, peer.Name))
			if !s.cluster.Nodes[peer.Name].IsMaster {
				check("the range of "+third+" for a second address of its own", route{r, foreign.hop}, false)
			}
		}
	}
}

var (
	exact  = regexp.MustCompile(`^net = (\S+)$`)
	not    = regexp.MustCompile(`^net != (\S+)$`)
	inside = regexp.MustCompile(`^net ~ \[ (\S+)\{(\d+),(\d+)\} \]$`)
	hop    = regexp.MustCompile(`^bgp_next_hop (!?=) (\S+)$`)
)

// importFilter reads the filter of the session with a neighbour, as far as the
// template writes it: lines of conditions that accept, and then a reject.
func importFilter(t *testing.T, conf, neighbour string) func(route) bool {
	t.Helper()
	_, session, ok := strings.Cut(conf, "neighbor "+neighbour+" as")
	_, filter, found := strings.Cut(session, "import filter {\n")
	filter, _, ends := strings.Cut(filter, "      reject;\n    };")
	if !ok || !found || !ends || strings.Contains(session[:strings.Index(session, "import filter")], "protocol") {
		t.Fatalf("no filter for neighbour %s in\n%s", neighbour, conf)
	}
	var rules [][]string
	for line := range strings.Lines(filter) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		conditions, ok := strings.CutSuffix(strings.TrimSpace(line), " then accept;")
		if !ok || !strings.HasPrefix(conditions, "if ") {
			t.Fatalf("the filter for %s has the line %q", neighbour, line)
		}
		rules = append(rules, strings.Split(strings.TrimPrefix(conditions, "if "), " && "))
	}
	return func(r route) bool {
		return slices.ContainsFunc(rules, func(rule []string) bool {
			return !slices.ContainsFunc(rule, func(c string) bool { return !holds(t, c, r) })
		})
	}
}

func holds(t *testing.T, condition string, r route) bool {
	t.Helper()
	if m := exact.FindStringSubmatch(condition); m != nil {
		return r.prefix == m[1]
	}
	if m := not.FindStringSubmatch(condition); m != nil {
		return r.prefix != m[1]
	}
	if m := inside.FindStringSubmatch(condition); m != nil {
		p := netip.MustParsePrefix(r.prefix)
		return m[2] == m[3] && strconv.Itoa(p.Bits()) == m[2] && netip.MustParsePrefix(m[1]).Contains(p.Addr())
	}
	if m := hop.FindStringSubmatch(condition); m != nil {
		return (r.hop == m[2]) == (m[1] == "=")
	}
	t.Fatal(fmt.Errorf("condition %q", condition))
	return false
}
