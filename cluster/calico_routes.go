package cluster

import "slices"

// CalicoRoutes are the BGP sessions of Calico's nodes, as its objects in the API say.
type CalicoRoutes struct {
	// New is true when the cluster has no BGPConfiguration: no node has started Calico.
	New  bool
	Mesh bool // every node that is no reflector has a session with every other such node
	// Reflectors are the nodes with a cluster ID. Setting one takes the node out of the mesh at
	// once.
	Reflectors []string
	// Clients has the reflectors of each node, which its labels name.
	Clients map[string][]string
	// Peers are the names of the BGPPeers that deployer has written.
	Peers []string
}

// Names of the BGPPeers that deployer writes.
const (
	// PeerTransition: all nodes have sessions with all reflectors, while they change.
	PeerTransition = "deployer-transition"
	// PeerCanary: one node has its sessions with settings that no other session has yet.
	PeerCanary = "deployer-canary"
	// PeerReflectors: the reflectors have sessions with each other.
	PeerReflectors = "deployer-reflectors"
	peerClients    = "deployer-clients-of-"
)

// PeerClients returns the name of the BGPPeer between a reflector and the nodes whose routes it
// reflects.
func PeerClients(reflector string) string { return peerClients + reflector }

// CalicoTransition says how a cluster comes to the sessions of its inventory. A node that becomes
// a reflector, or ceases to be one, loses its sessions in the mesh at once; all nodes therefore
// have sessions with all reflectors before the mesh ends, and until it has begun.
type CalicoTransition struct {
	// Needed is true when the mesh begins or ends, or the reflectors change, in a cluster that
	// has sessions.
	Needed bool
	Become []string // nodes that become reflectors, in inventory order
	Leave  []string // reflectors that become ordinary nodes, in inventory order
}

// WantedCalicoRoutes returns the sessions of the inventory.
func (c *Cluster) WantedCalicoRoutes() CalicoRoutes {
	out := CalicoRoutes{Mesh: c.Network.Mesh, Reflectors: c.Network.Reflectors, Clients: map[string][]string{}, Peers: []string{}}
	if out.Mesh {
		return out
	}
	out.Peers = append(out.Peers, PeerReflectors)
	for _, r := range out.Reflectors {
		out.Peers = append(out.Peers, PeerClients(r))
	}
	for _, name := range c.NodeNames {
		bgp := c.Nodes[name].BGP
		if bgp.IsReflector {
			continue
		}
		for _, p := range bgp.Peers {
			out.Clients[name] = append(out.Clients[name], p.Name)
		}
	}
	return out
}

// PlanCalicoTransition compares the sessions that a cluster has with those of the inventory.
func PlanCalicoTransition(want, have CalicoRoutes) CalicoTransition {
	t := CalicoTransition{Become: []string{}, Leave: []string{}}
	if have.New {
		return t
	}
	for _, r := range want.Reflectors {
		if !slices.Contains(have.Reflectors, r) {
			t.Become = append(t.Become, r)
		}
	}
	for _, r := range have.Reflectors {
		if !slices.Contains(want.Reflectors, r) {
			t.Leave = append(t.Leave, r)
		}
	}
	// A former run may have ended in the middle.
	unfinished := slices.Contains(have.Peers, PeerTransition) || slices.Contains(have.Peers, PeerCanary)
	t.Needed = unfinished || want.Mesh != have.Mesh || len(t.Become)+len(t.Leave) > 0
	return t
}
