package networkstatus

import (
	"fmt"
	"net/netip"
	"slices"

	"deployer/cluster"
	"deployer/shortlist"
)

// comparison is a comparison in progress.
type comparison struct {
	cluster  *cluster.Cluster
	found    Observed
	routes   Routes
	state    map[string]condition
	owner    map[string]string                       // node of each prefix
	peers    map[string]sessionKey                   // peer of each name of a session
	routers  map[string]bool                         // names of sessions with routers outside of the cluster
	sessions map[string]map[sessionKey]SessionStatus // of each node that answers, by peer
	others   map[string][]SessionStatus              // sessions of each node with hosts that are no nodes of the inventory
	impacts  map[string]*impact                      // of each node at which others fail
	problems []Problem

	mtuFaults []mtuFault            // in the order of the nodes
	tooLarge  map[mtuFault][]string // nodes of each
}

// impact are the nodes that suffer from the fault of another one.
type impact struct{ sessions, routes []string }

func (i *impact) String() string {
	text := ""
	if i != nil && len(i.sessions) > 0 {
		text = "; no session with it: " + shortlist.Names(i.sessions, shown)
	}
	if i != nil && len(i.routes) > 0 {
		text += "; no route to its pods: " + shortlist.Names(i.routes, shown)
	}
	return text
}

func newComparison(c *cluster.Cluster, found Observed) *comparison {
	m := &comparison{
		cluster: c, found: found, routes: WantedRoutes(c, found.Objects), state: conditions(c, found),
		owner: map[string]string{}, peers: map[string]sessionKey{}, routers: map[string]bool{}, sessions: map[string]map[sessionKey]SessionStatus{},
		others: map[string][]SessionStatus{}, impacts: map[string]*impact{}, tooLarge: map[mtuFault][]string{},
	}
	for node, prefixes := range m.routes.Own {
		for _, p := range prefixes {
			m.owner[p] = node
		}
	}
	for _, name := range c.NodeNames {
		for _, ip := range c.Nodes[name].IPs {
			key := sessionKey{name, cluster.FamilyOf(ip)}
			if c.Network.Plugin == cluster.PluginCalico {
				m.peers[cluster.CalicoSession(cluster.CalicoMeshSession, ip)] = key
				m.peers[cluster.CalicoSession(cluster.CalicoPeerSession, ip)] = key
			} else {
				m.peers[cluster.BIRDSession(name, ip)] = key
			}
		}
	}
	for _, node := range c.NodeNames {
		for _, r := range c.Nodes[node].BGP.Routers {
			m.routers[r.Session] = true
		}
	}
	return m
}

// condition is how far a node takes part in the pod network.
type condition int

const (
	unasked  condition = iota // not among the hosts of the run
	unread                    // it was reached, and could not be examined
	down                      // it was not reached
	absent                    // it is not in the cluster
	birdless                  // its BIRD does not answer
	works
)

// conditions returns the condition of each node of the inventory.
func conditions(c *cluster.Cluster, found Observed) map[string]condition {
	inAPI := map[string]bool{}
	for _, n := range found.Objects.Nodes {
		inAPI[n.Name] = true
	}
	out := map[string]condition{}
	for _, node := range c.NodeNames {
		h, ok := found.Hosts[node]
		failure, failed := found.Failures[node]
		switch {
		case failed && failure.Unreachable:
			out[node] = down
		case failed:
			out[node] = unread
		case !ok:
			out[node] = unasked
		case !inAPI[node] && found.Objects.Error == "":
			out[node] = absent
		case h.BIRDError != "":
			out[node] = birdless
		default:
			out[node] = works
		}
	}
	return out
}

// examine collects the sessions of a node, and what it lacks because of others.
func (m *comparison) examine(node string) {
	if m.state[node] != works && m.state[node] != birdless {
		return
	}
	m.readSessions(node)
	if m.state[node] == birdless {
		return // all that is missing follows from that
	}
	for _, s := range m.sessions[node] {
		if s.Wanted && s.State != established && m.broken(s.Peer) {
			if affected := m.impact(s.Peer); !slices.Contains(affected.sessions, node) { // it may have one for each family
				affected.sessions = append(affected.sessions, node)
			}
		}
	}
	for _, r := range m.found.Hosts[node].Missing {
		if owner := m.owner[r.To]; r.Found == "" && m.broken(owner) {
			affected := m.impact(owner)
			if !slices.Contains(affected.routes, node) { // with Calico, a node has several blocks
				affected.routes = append(affected.routes, node)
			}
		}
	}
}

// broken reports whether a node is at fault for what others lack of it. A route to the pods of a node
// that is down is missing after BIRD has given up the session.
func (m *comparison) broken(node string) bool {
	c := m.state[node]
	return c == down || c == absent || c == birdless
}

func (m *comparison) impact(node string) *impact {
	if m.impacts[node] == nil {
		m.impacts[node] = &impact{}
	}
	return m.impacts[node]
}

func (m *comparison) report(check, host, fix, format string, args ...any) {
	m.problems = append(m.problems, Problem{Check: check, Host: host, Detail: fmt.Sprintf(format, args...), Fix: fix})
}

// status returns the state of a node without its problems.
func (m *comparison) status(node string) HostStatus {
	h := m.found.Hosts[node]
	out := HostStatus{
		Host: node, Failure: m.found.Failures[node].Reason, Reflector: m.cluster.Nodes[node].BGP.IsReflector,
		Ranges: append([]string{}, m.routes.Own[node]...), Sessions: m.sessionList(node), Checks: []string{},
		Routes: RoutesStatus{
			Known:  m.routesKnown() && m.state[node] != down && m.state[node] != unread,
			Wanted: h.RoutesPresent + h.RoutesMissing, Present: h.RoutesPresent, Missing: append([]Missing{}, h.Missing...),
		},
		MTU: m.mtu(node),
	}
	out.Addresses = m.addresses(node)
	return out
}

// routesKnown reports whether the routes that nodes must have are known.
func (m *comparison) routesKnown() bool {
	return m.cluster.Network.Plugin != cluster.PluginNone && len(m.routes.Own) > 0
}

// addresses returns the use of the node's ranges. The plugin host-local gives away neither the first
// nor the last address of a range, and the bridge or the host's end has the second.
func (m *comparison) addresses(node string) AddressesStatus {
	var out AddressesStatus
	for _, text := range m.routes.Own[node] {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			continue
		}
		switch size := addressCount(prefix); {
		case m.cluster.Network.Plugin != cluster.PluginBGP:
			out.Total += size
		case prefix.Addr().Is4(): // with both families, each pod has an address of each
			out.Total += max(size-3, 0)
		}
	}
	out.Used = m.found.Hosts[node].Addresses
	if m.cluster.Network.Plugin == cluster.PluginCalico {
		out.Used = 0
		for _, b := range m.found.Objects.Blocks {
			if b.Node == node && b.Announced {
				out.Used += b.Used
			}
		}
	}
	return out
}

// maxCountBits bounds counts of addresses and blocks, which ranges of IPv6 exceed.
const maxCountBits = 40

// addressCount returns the number of addresses of a prefix, at most 1 << maxCountBits.
func addressCount(p netip.Prefix) int { return 1 << min(p.Addr().BitLen()-p.Bits(), maxCountBits) }
