package networkstatus

import (
	"fmt"

	"deployer/cluster"
	"deployer/shortlist"
)

// routerSessions returns the sessions of a node with routers, in inventory order.
func (m *comparison) routerSessions(node string) []SessionStatus {
	out := []SessionStatus{}
	for _, r := range m.cluster.Nodes[node].BGP.Routers {
		one := SessionStatus{Peer: r.Name, Family: cluster.FamilyOf(r.IP), Router: true, Wanted: true, State: notConfigured}
		for _, s := range m.found.Hosts[node].Sessions {
			if s.Name == r.Session {
				one.Name, one.State, one.Since = s.Name, s.State, s.Since
			}
		}
		out = append(out, one)
	}
	return out
}

// lacksRouter reports whether a session of a node with a router is missing.
func (m *comparison) lacksRouter(node string) bool {
	if m.state[node] != works {
		return false
	}
	for _, s := range m.routerSessions(node) {
		if s.State != established {
			return true
		}
	}
	return false
}

// routerProblems reports each router with the nodes that have no session with it.
func (m *comparison) routerProblems() {
	for _, spec := range m.cluster.Network.PeerSpecs {
		var down []string
		wanted := 0
		for _, node := range m.cluster.NodeNames {
			if m.state[node] != works {
				continue
			}
			for _, s := range m.routerSessions(node) {
				if s.Peer != spec.Name {
					continue
				}
				wanted++
				if s.State != established {
					down = append(down, fmt.Sprintf("%s (%s)", node, s.State))
				}
			}
		}
		switch {
		case len(down) == 0:
		case len(down) == wanted:
			m.report(checkRouters, "", "look at the router: it is down, or its configuration has other numbers of autonomous systems or another password", "router %s (%s) has no session: %s", spec.Name, spec.Address, shortlist.Names(down, shown))
		default:
			m.report(checkRouters, "", "look at the router's configuration for these nodes, and run deployer apply where a session is not configured", "router %s (%s) has no session with %d of %d nodes: %s", spec.Name, spec.Address, len(down), wanted, shortlist.Names(down, shown))
		}
	}
}

// sameRack reports whether two nodes are in one layer-2 network.
func (m *comparison) sameRack(a, b string) bool {
	return m.cluster.Nodes[a].BGP.Rack == m.cluster.Nodes[b].BGP.Rack
}
