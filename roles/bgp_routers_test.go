package roles_test

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"deployer/project"
)

// TestRoutersAnnounceWhatTheInventoryNames evaluates the BIRD filters of the sessions with routers: of
// their routes nodes accept those that the inventory names, and never one to their own pods or to
// Services; they announce their own range and Services.
func TestRoutersAnnounceWhatTheInventoryNames(t *testing.T) {
	s := newSite(t, "racks")
	ranges := s.found["pod_cidrs"].(map[string]any)
	for _, host := range project.ClusterHosts(s.inv, s.cluster) {
		node := s.cluster.Nodes[host]
		conf := s.files(t, host)["/etc/deployer/bird.conf"]
		own := ranges[host].(string)
		var announced []string
		for _, m := range announcement.FindAllStringSubmatch(section(t, conf, "template bgp outside"), -1) {
			announced = append(announced, m[1])
		}
		if want := append([]string{own}, node.BGP.Advertised...); strings.Join(announced, " ") != strings.Join(want, " ") {
			t.Errorf("%s announces %v, want %v", host, announced, want)
		}
		for _, r := range node.BGP.Routers {
			session := section(t, conf, "protocol bgp '"+r.Session+"'")
			far := r.Name == "monitor"
			if strings.Contains(session, "import filter") == far {
				t.Errorf("%s: the session with %s accepts routes: %v", host, r.Name, !far)
			}
			if far {
				continue
			}
			takes := routerFilter(t, session)
			check := func(prefix string, want bool) {
				t.Helper()
				if takes(prefix) != want {
					t.Errorf("%s: accepts %s from %s: %t, want %t", host, prefix, r.Name, !want, want)
				}
			}
			for _, other := range s.cluster.NodeNames {
				check(ranges[other].(string), other != host)
			}
			check(strings.Replace(own, "/24", "/25", 1), false)
			check(s.cluster.PodCIDRs[0], false)
			check("10.96.0.0/16", false)
			check("10.96.0.10/32", false)
			check("192.0.2.0/24", false)
			b := node.BGP.Rack == "b"
			check("0.0.0.0/0", b)
			check("198.51.100.0/24", b)
			check("198.51.100.128/25", b)
			check("198.51.0.0/16", false)
		}
	}
}

// section returns a block of a configuration of BIRD up to the line with its last brace.
func section(t *testing.T, conf, title string) string {
	t.Helper()
	_, rest, ok := strings.Cut(conf, "\n"+title)
	block, _, ends := strings.Cut(rest, "\n}")
	if !ok || !ends {
		t.Fatalf("no %s in\n%s", title, conf)
	}
	return block
}

var (
	announcement = regexp.MustCompile(`(?m)^      if net = (\S+) then accept;`)
	rule         = regexp.MustCompile(`^if net (=|~) (?:\[ (\S+?)(\+|\{24,24\}) \]|(\S+)) then (accept|reject);`)
)

// routerFilter reads an import filter, as far as the template writes it: conditions on the prefix.
func routerFilter(t *testing.T, session string) func(prefix string) bool {
	t.Helper()
	_, filter, _ := strings.Cut(session, "import filter {\n")
	filter, _, ok := strings.Cut(filter, "      reject;\n    };")
	if !ok {
		t.Fatalf("no filter in %s", session)
	}
	type step struct {
		fits   func(string) bool
		accept bool
	}
	var steps []step
	for line := range strings.Lines(filter) {
		m := rule.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			t.Fatalf("the filter has the line %q", line)
		}
		fits := func(p string) bool { return p == m[4] }
		switch m[3] {
		case "+":
			fits = func(p string) bool { return within(t, p, m[2]) }
		case "{24,24}":
			fits = func(p string) bool { return within(t, p, m[2]) && strings.HasSuffix(p, "/24") }
		}
		steps = append(steps, step{fits, m[5] == "accept"})
	}
	return func(prefix string) bool {
		for _, s := range steps {
			if s.fits(prefix) {
				return s.accept
			}
		}
		return false
	}
}

// within reports whether a prefix is another one or a part of it.
func within(t *testing.T, prefix, of string) bool {
	t.Helper()
	p, err := netip.ParsePrefix(prefix)
	o, oerr := netip.ParsePrefix(of)
	if err != nil || oerr != nil {
		t.Fatal(prefix, of)
	}
	return o.Bits() <= p.Bits() && o.Contains(p.Addr())
}
