package roles_test

import (
	"fmt"
	"regexp"
	"slices"
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
	for _, sample := range []string{"nginx", "haproxy"} {
		s := newSite(t, sample)
		ranges := s.found["pod_cidrs"].(map[string]any)
		for _, host := range project.ClusterHosts(s.inv, s.cluster) {
			node := s.cluster.Nodes[host]
			if !node.IsNode {
				continue
			}
			conf := s.files(t, host)["/etc/deployer/bird.conf"]
			for _, peer := range node.BGP.Peers {
				accepts := importFilter(t, conf, peer.IP)
				own := ranges[peer.Name].(string)
				check := func(what string, r route, want bool) {
					if accepts(r) != want {
						t.Errorf("%s: %s takes %s from %s: %t, want %t", sample, host, what, peer.Name, !want, want)
					}
				}
				check("its range", route{own, peer.IP}, true)
				check("its range by somebody else", route{own, "10.9.9.9"}, false)
				check("a default route", route{"0.0.0.0/0", peer.IP}, false)
				check("a half of its range", route{strings.Replace(own, "/24", "/25", 1), peer.IP}, false)
				check("all pods", route{s.cluster.PodCIDRs[0], peer.IP}, false)
				check("a network outside", route{"192.0.2.0/24", peer.IP}, false)
				check("the node's own range", route{ranges[host].(string), peer.IP}, false)
				check("the node's own range of another", route{ranges[host].(string), "10.9.9.9"}, false)
				for _, third := range s.cluster.NodeNames {
					if third == host || third == peer.Name {
						continue
					}
					r := ranges[third].(string)
					check("the range of "+third+" for itself", route{r, peer.IP}, false)
					check("the range of "+third, route{r, s.cluster.Nodes[third].IP}, slices.Contains(s.cluster.Network.Reflectors, peer.Name))
					if !s.cluster.Nodes[peer.Name].IsMaster {
						check("the range of "+third+" for a second address of its own", route{r, "10.9.9.9"}, false)
					}
				}
			}
		}
	}
}

var (
	exact  = regexp.MustCompile(`^net = (\S+)$`)
	not    = regexp.MustCompile(`^net != (\S+)$`)
	inside = regexp.MustCompile(`^net ~ \[ (\d+\.\d+)\.0\.0/16\{24,24\} \]$`)
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
		return strings.HasPrefix(r.prefix, m[1]+".") && strings.HasSuffix(r.prefix, "/24")
	}
	if m := hop.FindStringSubmatch(condition); m != nil {
		return (r.hop == m[2]) == (m[1] == "=")
	}
	t.Fatal(fmt.Errorf("condition %q", condition))
	return false
}
