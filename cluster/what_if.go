package cluster

import (
	"fmt"
	"net/netip"
)

// MaxNodes is the number of nodes up to which [WhatIf] answers. Kubernetes is made for 5000
// (kubernetes.io/docs/setup/best-practices/cluster-large).
const MaxNodes = 5000

// widePodCIDR has a range of /24 for each of 32768 nodes.
const widePodCIDR = "10.128.0.0/9"

// WhatIf returns a cluster of a number of nodes, 1 to [MaxNodes], with nothing but defaults: three
// masters, or one where there are fewer than three nodes. A range of pods that is too small for the
// nodes is replaced.
func WhatIf(nodes int) (*Cluster, error) {
	if nodes < 1 || nodes > MaxNodes {
		return nil, fmt.Errorf("%d is no number of nodes: use 1 to %d", nodes, MaxNodes)
	}
	masters := 3
	if nodes < masters {
		masters = 1
	}
	address := netip.MustParseAddr("198.18.0.1") // RFC 2544: of tests, so in no range of a cluster
	hosts := make([]Host, 0, nodes)
	for i := range nodes {
		h := Host{Name: fmt.Sprintf("n%d", i+1), Address: address.String(), Roles: []string{RoleMinion}}
		if i < masters {
			h.Roles = []string{RoleMaster}
		}
		hosts = append(hosts, h)
		address = address.Next()
	}
	spec := Spec{}
	if nodes > 256 {
		spec.PodCIDR = widePodCIDR
	}
	return Resolve(spec, hosts)
}
