package networkstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/shortlist"
)

// readSessions relates the sessions of a node to its peers. While sessions change, BIRD may have two
// with one peer; the established one counts.
func (m *comparison) readSessions(node string) {
	all := map[string]SessionStatus{}
	for _, s := range m.found.Hosts[node].Sessions {
		one := SessionStatus{Peer: m.peers[s.Name], Name: s.Name, State: s.State, Since: s.Since}
		if one.Peer == "" {
			m.others[node] = append(m.others[node], one)
		} else if have, ok := all[one.Peer]; !ok || have.State != established {
			all[one.Peer] = one
		}
	}
	if usesBIRD(m.cluster) {
		for _, p := range m.cluster.Nodes[node].BGP.Peers {
			s, ok := all[p.Name]
			if !ok {
				s = SessionStatus{Peer: p.Name, State: notConfigured}
			}
			s.Wanted = true
			all[p.Name] = s
		}
	}
	m.sessions[node] = all
}

// sessionList returns the sessions of a node in inventory order; those with other hosts come last.
func (m *comparison) sessionList(node string) []SessionStatus {
	out := []SessionStatus{}
	for _, peer := range m.cluster.NodeNames {
		if s, ok := m.sessions[node][peer]; ok {
			out = append(out, s)
		}
	}
	return append(out, m.others[node]...)
}

// sessionProblems reports the sessions of a node that are missing for a reason of its own.
func (m *comparison) sessionProblems(node string) {
	var unconfigured, unestablished, unwanted, states []string
	for _, s := range m.sessionList(node) {
		switch {
		case !s.Wanted && m.isOurs(s):
			unwanted = append(unwanted, cmp.Or(s.Peer, s.Name))
		case !s.Wanted || s.State == established || m.broken(s.Peer):
		case s.State == notConfigured:
			unconfigured = append(unconfigured, s.Peer)
		case m.hasNoSession(s.Peer, node): // reported there
		default:
			unestablished = append(unestablished, fmt.Sprintf("%s (%s)", s.Peer, s.State))
			states = append(states, s.State)
		}
	}
	if len(unconfigured) > 0 {
		m.report(checkSessions, node, applyFix, "BIRD's configuration has no session with %s", shortlist.Names(unconfigured, shown))
	}
	if len(unestablished) > 0 {
		m.report(checkSessions, node, sessionFix(states), "not established: %s", shortlist.Names(unestablished, shown))
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
func (m *comparison) hasNoSession(node, with string) bool {
	s, ok := m.sessions[node][with]
	return ok && s.State == notConfigured
}

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

// isUp reports whether two nodes have an established session, as far as one of them was examined.
// A session between nodes that were not examined counts as one.
func (m *comparison) isUp(a, b string) bool {
	for _, end := range [][2]string{{a, b}, {b, a}} {
		if m.state[end[0]] == works {
			return m.sessions[end[0]][end[1]].State == established
		}
	}
	return m.isUnknown(a) && m.isUnknown(b)
}

// isUnknown reports whether nobody knows whether a node works.
func (m *comparison) isUnknown(node string) bool {
	return m.state[node] == unasked || m.state[node] == unread
}
