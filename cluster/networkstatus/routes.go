package networkstatus

import (
	"fmt"
	"strings"

	"deployer/cluster"
	"deployer/shortlist"
)

// routeProblems reports the routes that a node lacks for another reason than a node that does not work.
func (m *comparison) routeProblems(node string) {
	h := m.found.Hosts[node]
	var wrong, cut, lost, other []string
	for _, r := range h.Missing {
		owner := m.owner[r.To]
		text := fmt.Sprintf("%s of %s", r.To, owner)
		switch {
		case owner == "":
		case r.Found != "":
			wrong = append(wrong, fmt.Sprintf("%s by %s instead of %s", text, r.Found, r.Want))
		case m.broken(owner):
		case !m.sameRack(node, owner):
			other = append(other, text)
		case usesBIRD(m.cluster) && !m.leads(node, owner, cluster.FamilyOf(r.To)):
			cut = append(cut, text)
		default:
			lost = append(lost, text)
		}
	}
	if len(wrong) > 0 {
		m.report(checkRoutes, node, "ip route show "+firstWrong(h.Missing)+" on the host shows what has made the route", "routes to pods have another gateway: %s", shortlist.Names(wrong, shown))
	}
	if len(other) > 0 {
		m.report(checkRoutes, node, "look at the routers: they must announce to each rack the pods of all others", "no router announces the pods in other racks %s", shortlist.Names(other, shown))
	}
	if len(cut) > 0 {
		m.report(checkRoutes, node, "establish the sessions first", "no established session leads to the pods %s", shortlist.Names(cut, shown))
	}
	if len(lost) > 0 {
		m.report(checkRoutes, node, m.lostFix(node, lost[0]), "no route to the pods %s", shortlist.Names(lost, shown)+m.lostDetail())
	}
}

func firstWrong(missing []Missing) string {
	for _, r := range missing {
		if r.Found != "" {
			return r.To
		}
	}
	return ""
}

func (m *comparison) lostDetail() string {
	if usesBIRD(m.cluster) {
		return ", though sessions lead there: a neighbour does not announce it, or a filter rejects it"
	}
	return ": Felix has not written it"
}

// lostFix returns the advice for routes that are missing, of which text begins with the first.
func (m *comparison) lostFix(node, text string) string {
	if !usesBIRD(m.cluster) {
		return "look at the log of calico-node: kubectl -n kube-system logs calico-node-" + node
	}
	prefix, _, _ := strings.Cut(text, " ")
	return fmt.Sprintf("run deployer apply; birdc -s %s show route for %s all shows what BIRD knows", m.cluster.BIRDSocket(cluster.FamilyOf(prefix)), prefix)
}

// leads reports whether the announcements of a node reach another one by established sessions of a
// family: directly, or passed on by reflectors.
func (m *comparison) leads(to, from, family string) bool {
	if m.isUp(to, from, family) {
		return true
	}
	visited := map[string]bool{from: true}
	for next := []string{from}; len(next) > 0; {
		at := next[0]
		next = next[1:]
		for _, r := range m.cluster.Network.Reflectors {
			if visited[r] || !m.isUp(at, r, family) {
				continue
			}
			if r == to || m.isUp(r, to, family) {
				return true
			}
			visited[r] = true
			next = append(next, r)
		}
	}
	return false
}
