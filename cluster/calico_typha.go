package cluster

import "slices"

// Values of cluster.network.calico.typha.
const (
	TyphaAuto   = "auto"
	TyphaAlways = "always"
	TyphaNever  = "never"
)

// typhaFrom is the number of nodes from which on Typha is used: Calico's manifest for the
// Kubernetes datastore is recommended without Typha up to 50 nodes (docs.tigera.io, Install
// Calico networking and network policy for on-premises deployments).
const typhaFrom = 51

// typhaCount returns the number of Typha processes for a number of nodes: one for 200, two more so
// that one may be down while another restarts (tigera/operator pkg/common/autoscale.go,
// GetExpectedTyphaScale).
func typhaCount(nodes int) int {
	switch {
	case nodes <= 2:
		return 1
	case nodes <= 4:
		return 2
	}
	return max(3, nodes/200+2)
}

// typhaHosts chooses the hosts of Typha: masters first, because their certificates count for more
// than those of minions anyway.
func typhaHosts(p placement, typha string) []string {
	if typha == TyphaNever || typha == TyphaAuto && len(p.nodes) < typhaFrom {
		return []string{}
	}
	all := slices.Clone(p.masters)
	for _, node := range p.nodes {
		if !slices.Contains(all, node) {
			all = append(all, node)
		}
	}
	return all[:min(typhaCount(len(p.nodes)), len(all))]
}
