package networkstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/shortlist"
)

// sessionKey is the peer of a session, and the family of the routes that it carries.
type sessionKey struct{ peer, family string }

// name returns the peer with the family that is not the usual one, for messages.
func (s SessionStatus) name() string {
	if s.Family == cluster.FamilyIPv6 {
		return s.Peer + " by IPv6"
	}
	return s.Peer
}

// readSessions relates the sessions of a node to its peers. While sessions change, BIRD may have two
// with one peer; the established one counts.
func (m *comparison) readSessions(node string) {
	all := map[sessionKey]SessionStatus{}
	for _, s := range m.found.Hosts[node].Sessions {
		if m.routers[s.Name] {
			continue
		}
		key := m.peers[s.Name]
		one := SessionStatus{Peer: key.peer, Family: key.family, Name: s.Name, State: s.State, Since: s.Since}
		if one.Peer == "" {
			m.others[node] = append(m.others[node], one)
		} else if have, ok := all[key]; !ok || have.State != established {
			all[key] = one
		}
	}
	if usesBIRD(m.cluster) {
		for _, key := range wantedSessions(m.cluster.Nodes[node]) {
			s, ok := all[key]
			if !ok {
				s = SessionStatus{Peer: key.peer, Family: key.family, State: notConfigured}
			}
			s.Wanted = true
			all[key] = s
		}
	}
	m.sessions[node] = all
}

// wantedSessions returns the sessions that the inventory wants of a node: one for each peer and family.
func wantedSessions(n cluster.Node) []sessionKey {
	var out []sessionKey
	for _, p := range n.BGP.Peers {
		for _, ip := range []string{p.IPv4, p.IPv6} {
			if ip != "" {
				out = append(out, sessionKey{p.Name, cluster.FamilyOf(ip)})
			}
		}
	}
	return out
}

// sessionList returns the sessions of a node in inventory order; those with other hosts come last.
func (m *comparison) sessionList(node string) []SessionStatus {
	out := []SessionStatus{}
	for _, peer := range m.cluster.NodeNames {
		for _, family := range []string{cluster.FamilyIPv4, cluster.FamilyIPv6} {
			if s, ok := m.sessions[node][sessionKey{peer, family}]; ok {
				out = append(out, s)
			}
		}
	}
	return append(append(out, m.routerSessions(node)...), m.others[node]...)
}

// sessionProblems reports the sessions of a node that are missing for a reason of its own.
func (m *comparison) sessionProblems(node string) {
	var unconfigured, unestablished, unwanted, states []string
	for _, s := range m.sessionList(node) {
		switch {
		case s.Router: // reported for all nodes
		case !s.Wanted && m.isOurs(s):
			unwanted = append(unwanted, cmp.Or(s.name(), s.Name))
		case !s.Wanted || s.State == established || m.broken(s.Peer):
		case s.State == notConfigured:
			unconfigured = append(unconfigured, s.name())
		case m.hasNoSession(s.Peer, node, s.Family): // reported there
		case m.isAlone(s.Peer) && !m.isAlone(node): // reported there
		default:
			unestablished = append(unestablished, fmt.Sprintf("%s (%s)", s.name(), s.State))
			states = append(states, s.State)
		}
	}
	if len(unconfigured) > 0 {
		m.report(checkSessions, node, applyFix, "BIRD's configuration has no session with %s", shortlist.Names(unconfigured, shown))
	}
	switch names := shortlist.Names(unestablished, shown); {
	case len(unestablished) > 0 && m.isAlone(node):
		m.report(checkSessions, node, aloneFix, "no session is established, and other nodes have sessions with each other: %s", names)
	case len(unestablished) > 0:
		m.report(checkSessions, node, sessionFix(states), "not established: %s", names)
	}
	if len(unwanted) > 0 {
		m.report(checkSessions, node, applyFix, "BIRD's configuration has sessions that the inventory does not want, with %s", shortlist.Names(unwanted, shown))
	}
}

// isOurs reports whether deployer made a session. With Calico, users may have BGPPeers of their own.
func (m *comparison) isOurs(s SessionStatus) bool {
	return s.Peer != "" || m.cluster.Network.Plugin == cluster.PluginBGP
}

// hasNoSession reports whether a node that was examined lacks a session with another one in its configuration.
func (m *comparison) hasNoSession(node, with, family string) bool {
	s, ok := m.sessions[node][sessionKey{with, family}]
	return ok && s.State == notConfigured
}

// isAlone reports whether none of several sessions of a node is established, while a peer of it has sessions
// with others: then the cause is at this node.
func (m *comparison) isAlone(node string) bool {
	wanted, others := 0, false
	for key, s := range m.sessions[node] {
		if !s.Wanted {
			continue
		}
		if wanted++; s.State == established || s.State == notConfigured {
			return false
		}
		for _, theirs := range m.sessions[key.peer] {
			others = others || theirs.Wanted && theirs.State == established
		}
	}
	return wanted > 1 && others
}

// aloneFix is the advice for a node that has no session.
const aloneFix = "look at this host: its password of the sessions may be another one, TCP port 179 may be closed, its network may be cut: run deployer apply, then look at BIRD's log"

// sessionFix returns the advice for sessions in the words of BIRD.
func sessionFix(states []string) string {
	has := func(text string) bool {
		return slices.ContainsFunc(states, func(s string) bool { return strings.Contains(s, text) })
	}
	switch {
	case has("No route to host"), has("unreachable"):
		return "the hosts do not reach each other: look at the network between them, and at their firewalls"
	case has("Connection refused"):
		return "nothing listens on TCP port 179 of the other host, or its firewall refuses it: look at BIRD's log there"
	}
	return "TCP port 179 must be open between the hosts, and both must have the same password: run deployer apply, then look at BIRD's log on both"
}

// isUp reports whether two nodes have an established session for the routes of a family, as far as one
// of them was examined. A session between nodes that were not examined counts as one.
func (m *comparison) isUp(a, b, family string) bool {
	for _, end := range [][2]string{{a, b}, {b, a}} {
		if m.state[end[0]] == works {
			return m.sessions[end[0]][sessionKey{end[1], family}].State == established
		}
	}
	return m.isUnknown(a) && m.isUnknown(b)
}

// isUnknown reports whether nobody knows whether a node works.
func (m *comparison) isUnknown(node string) bool {
	return m.state[node] == unasked || m.state[node] == unread
}
