package networkstatus

import (
	"cmp"
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/shortlist"
)

// encapsulation returns the encapsulation of Calico's packets between nodes, as the inventory writes it.
func encapsulation(c *cluster.Cluster) string {
	for _, p := range c.Network.Calico.Pools {
		switch {
		case p.VXLANMode == "Always":
			return cluster.EncapsulationVXLAN
		case p.VXLANMode == "CrossSubnet":
			return cluster.EncapsulationVXLANCrossSubnet
		case p.IPIPMode == "Always":
			return cluster.EncapsulationIPIP
		case p.IPIPMode == "CrossSubnet":
			return cluster.EncapsulationIPIPCrossSubnet
		}
	}
	return cluster.EncapsulationNone
}

// Overhead returns the number of bytes that the encapsulation of Calico takes of each packet (docs.tigera.io,
// Configure MTU to maximize network performance). Pods have one MTU for both families.
func Overhead(c *cluster.Cluster) int {
	switch encapsulation(c) {
	case cluster.EncapsulationIPIP, cluster.EncapsulationIPIPCrossSubnet:
		return 20
	case cluster.EncapsulationVXLAN, cluster.EncapsulationVXLANCrossSubnet:
		if slices.Contains(c.Families, cluster.FamilyIPv6) {
			return 70
		}
		return 50
	}
	return 0
}

// mtu returns the MTU of a node's pods, and the one that the way to the other nodes allows.
func (m *comparison) mtu(node string) MTUStatus {
	h := m.found.Hosts[node]
	out := MTUStatus{Pods: h.Pods.High, Uplinks: append([]Interface{}, h.Uplinks...)}
	switch {
	case h.CNI.File == "":
	case m.cluster.Network.Plugin == cluster.PluginCalico:
		out.New = cmp.Or(h.CNI.MTU, h.CalicoMTU)
	case m.cluster.Network.Plugin == cluster.PluginBGP:
		out.New = cmp.Or(h.CNI.MTU, cluster.DefaultPodMTU)
	}
	if narrow := m.narrowest(node); narrow.mtu > 0 {
		out.Allowed = narrow.mtu - Overhead(m.cluster)
	}
	return out
}

// uplink is an interface of a host.
type uplink struct {
	host, name string
	mtu        int
}

// narrowest returns the interface with the lowest MTU on the ways between a node and the others. With equal
// ones it is that of the node itself.
func (m *comparison) narrowest(node string) uplink {
	best := uplink{}
	visit := func(host string) {
		for _, i := range m.found.Hosts[host].Uplinks {
			if i.MTU > 0 && (best.mtu == 0 || i.MTU < best.mtu) {
				best = uplink{host, i.Name, i.MTU}
			}
		}
	}
	visit(node)
	if len(m.found.Hosts[node].Uplinks) > 0 {
		for _, other := range m.cluster.NodeNames {
			visit(other)
		}
	}
	return best
}

// mtuFault is that packets of pods are too large for a way between nodes. Many nodes have the same one.
type mtuFault struct {
	mtu    int // of running or new pods
	narrow uplink
	fix    string
}

// findMTU notes the node when packets of its pods are too large for the way to other nodes, and reports
// whether they are.
func (m *comparison) findMTU(node string) bool {
	mtu := m.mtu(node)
	highest := max(mtu.Pods, mtu.New)
	if mtu.Allowed == 0 || highest <= mtu.Allowed || m.cluster.Network.Plugin == cluster.PluginNone {
		return false
	}
	fault := mtuFault{mtu: highest, narrow: m.narrowest(node)}
	fault.fix = fmt.Sprintf("set cluster.network.mtu: %d, run deployer apply, and start the pods anew", mtu.Allowed)
	switch {
	case mtu.New <= mtu.Allowed:
		fault.fix = "start the pods anew"
	case m.cluster.Network.Plugin == cluster.PluginBGP && m.cluster.Network.MTU == 0 && mtu.Allowed >= cluster.MinPodMTU:
		fault.fix = fmt.Sprintf("run deployer apply, which gives new pods the MTU %d, and start the pods anew", mtu.Allowed)
	}
	if m.tooLarge[fault] == nil {
		m.mtuFaults = append(m.mtuFaults, fault)
	}
	m.tooLarge[fault] = append(m.tooLarge[fault], node)
	return true
}

// mtuProblems reports the noted faults, each with all of its nodes.
func (m *comparison) mtuProblems() {
	for _, f := range m.mtuFaults {
		bytes := Overhead(m.cluster)
		why := fmt.Sprintf("%s of %s has the MTU %d", f.narrow.name, f.narrow.host, f.narrow.mtu)
		if bytes > 0 {
			why += fmt.Sprintf(", of which the encapsulation takes %d bytes", bytes)
		}
		nodes := m.tooLarge[f]
		host, on := nodes[0], ""
		if len(nodes) > 1 {
			host, on = "", " on "+shortlist.Names(nodes, shown)
		}
		m.report(checkMTU, host, f.fix, "the MTU of pods is %d%s, and packets to other nodes may have %d bytes: %s", f.mtu, on, f.narrow.mtu-bytes, why)
	}
}
