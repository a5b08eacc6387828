package calico

import (
	"slices"

	"deployer/cluster"
)

// sessionNames computes the sessions of nodes at the gates of a change. Hosts that are not in the
// run, which may be down, are left out.
type sessionNames struct {
	cluster *cluster.Cluster
	have    cluster.CalicoRoutes
	inRun   []string
}

// byNode returns the list of each node.
func (s sessionNames) byNode(of func(node string) []string) map[string]any {
	out := map[string]any{}
	for _, node := range s.cluster.NodeNames {
		out[node] = texts(of(node))
	}
	return out
}

// present are the names of the sessions that a node may have now and that restart with changed settings.
// Those with canaries of a run that was killed have the settings already.
func (s sessionNames) present(node string, canaries []string) []string {
	return append(s.named(cluster.CalicoMeshSession, s.others(node, nil)), s.named(cluster.CalicoPeerSession, s.others(node, canaries))...)
}

// begun are the sessions of a mesh that begins; none when it does not begin now.
func (s sessionNames) begun(node string) []string {
	if !s.cluster.Network.Mesh || s.have.Mesh || slices.Contains(s.have.Reflectors, node) {
		return nil
	}
	return s.named(cluster.CalicoMeshSession, s.others(node, s.have.Reflectors))
}

// changed are the sessions of a node that has become a reflector, or an ordinary node. Other
// reflectors that leave for a mesh may have done so or not.
func (s sessionNames) changed(node string) []string {
	if s.cluster.Network.Mesh {
		return s.named(cluster.CalicoMeshSession, s.others(node, s.have.Reflectors))
	}
	return s.transition(node)
}

// transition are the sessions when all reflectors have changed, and all nodes have sessions with
// all of them.
func (s sessionNames) transition(node string) []string {
	switch {
	case s.cluster.Network.Mesh:
		return s.named(cluster.CalicoMeshSession, s.others(node, nil))
	case s.cluster.Nodes[node].BGP.IsReflector:
		return s.named(cluster.CalicoPeerSession, s.others(node, nil))
	}
	return s.named(cluster.CalicoPeerSession, s.cluster.Network.Reflectors)
}

// final are the sessions of the inventory.
func (s sessionNames) final(node string) []string {
	var peers []string
	for _, p := range s.cluster.Nodes[node].BGP.Peers {
		peers = append(peers, p.Name)
	}
	if s.cluster.Network.Mesh {
		return s.named(cluster.CalicoMeshSession, peers)
	}
	return s.named(cluster.CalicoPeerSession, peers)
}

// others returns the other nodes without some.
func (s sessionNames) others(node string, without []string) []string {
	return slices.DeleteFunc(slices.Clone(s.cluster.NodeNames), func(n string) bool { return n == node || slices.Contains(without, n) })
}

// named returns the names of sessions with nodes, one for each family.
func (s sessionNames) named(prefix string, nodes []string) []string {
	var out []string
	for _, n := range nodes {
		if !slices.Contains(s.inRun, n) {
			continue
		}
		for _, ip := range s.cluster.Nodes[n].IPs {
			out = append(out, cluster.CalicoSession(prefix, ip))
		}
	}
	return out
}
