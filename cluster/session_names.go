package cluster

import "strings"

// Prefixes of the names of BIRD's sessions in a cluster with Calico (confd, bird.cfg.template): of the
// mesh, and of BGPPeers. The address of the neighbour follows.
const (
	CalicoMeshSession = "Mesh_"
	CalicoPeerSession = "Node_"
)

// CalicoSession returns the name of BIRD's session with a neighbour in a cluster with Calico.
func CalicoSession(prefix, ip string) string {
	return prefix + strings.NewReplacer(".", "_", ":", "_").Replace(ip)
}

// maxSessionHost is the longest name of a host that is part of a session's name: BIRD's names of
// protocols have at most 64 characters.
const maxSessionHost = 60

// BIRDSession returns the name of BIRD's session with an address of a neighbour in a cluster with the
// plugin bgp (templates/network/bird.conf.tmpl).
func BIRDSession(name, ip string) string {
	prefix := "to_"
	if FamilyOf(ip) == FamilyIPv6 {
		prefix = "to6_"
	}
	if len(name) > maxSessionHost {
		name = ip
	}
	return prefix + name
}
