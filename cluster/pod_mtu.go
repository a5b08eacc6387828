package cluster

// DefaultPodMTU is the MTU of an interface of a pod when nobody sets one: the plugins bridge and ptp leave it to
// the kernel (ETH_DATA_LEN).
const DefaultPodMTU = 1500

// MinPodMTU is the lowest MTU that an interface of a node can give the pods of all nodes, in bytes: that of IPv6 (RFC 8200, 5). A
// node that reports less must not make the packets of the whole cluster small.
const MinPodMTU = 1280

// NodeMTU is what a node reports of its MTUs, in bytes.
type NodeMTU struct {
	Name    string
	Unknown bool        // true when the node is not in the run
	Uplinks []UplinkMTU // interfaces to other nodes
	Present int         // MTU in the node's network configuration; 0: it has none
}

// UplinkMTU is an interface to other nodes.
type UplinkMTU struct {
	Name string `json:"name"`
	MTU  int    `json:"mtu"` // bytes
}

// PodMTU is an MTU for the pods of all nodes.
type PodMTU struct {
	MTU       int    // bytes; 0: DefaultPodMTU, which the plugins do not set
	Node      string // node whose interface or configuration it comes from; empty with MTU 0
	Interface string // empty when it comes from a configuration
}

// ChoosePodMTU returns the lowest MTU of the interfaces between nodes, when it is below DefaultPodMTU: packets to a
// node are lost when they are larger than its interface takes. Interfaces with a higher one do not raise it, because
// what is between the nodes may not take such packets. While some nodes are unknown, it is not higher than what
// others have. It ignores values below 1280, and returns them as tooSmall.
func ChoosePodMTU(nodes []NodeMTU) (chosen PodMTU, tooSmall []PodMTU) {
	lowest := DefaultPodMTU
	take := func(found PodMTU) {
		switch {
		case found.MTU <= 0 || found.MTU >= lowest:
		case found.MTU < MinPodMTU:
			tooSmall = append(tooSmall, found)
		default:
			chosen, lowest = found, found.MTU
		}
	}
	unknown := false
	for _, n := range nodes {
		unknown = unknown || n.Unknown
		for _, u := range n.Uplinks {
			take(PodMTU{u.MTU, n.Name, u.Name})
		}
	}
	if unknown {
		for _, n := range nodes {
			take(PodMTU{n.Present, n.Name, ""})
		}
	}
	return chosen, tooSmall
}
