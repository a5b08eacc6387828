package networkstatus

import (
	"net/netip"
	"slices"
	"strings"

	"deployer/cluster"
)

// Objects is what the Kubernetes API knows of the pod network.
type Objects struct {
	Error  string  `json:"error"` // why the API could not be read; empty when it could
	Nodes  []Node  `json:"nodes"`
	Pools  []Pool  `json:"pools"`  // pools of Calico
	Blocks []Block `json:"blocks"` // blocks of Calico, in the order of their addresses
}

// Node is a Node object, or the range that a host has registered.
type Node struct {
	Name         string `json:"name"`
	Range        string `json:"range"`         // ranges of its pods, separated by commas; empty with Calico, and when it has none
	LacksNetwork bool   `json:"lacks_network"` // true when the pod network is all that the node lacks to be Ready
}

// Pool is an IPPool.
type Pool struct {
	Name      string `json:"name"`
	CIDR      string `json:"cidr"`
	BlockSize int    `json:"block_size"` // prefix length of its blocks
	Disabled  bool   `json:"disabled"`
}

// Block is a range of addresses of a pool.
type Block struct {
	CIDR string `json:"cidr"`
	Node string `json:"node"` // node that takes addresses of it; empty for none
	// Announced is true when the affinity of the node is confirmed, from when on the other nodes have a
	// route to it.
	Announced bool `json:"announced"`
	Used      int  `json:"used"` // number of addresses in use
}

// Node returns a node by its name.
func (o *Objects) Node(name string) (Node, bool) {
	for _, n := range o.Nodes {
		if n.Name == name {
			return n, true
		}
	}
	return Node{}, false
}

// SetRange sets the ranges of a node that the API does not have or does not know.
func (o *Objects) SetRange(name, prefix string) {
	if prefix == "" {
		return
	}
	for i := range o.Nodes {
		if o.Nodes[i].Name == name {
			o.Nodes[i].Range = prefix
			return
		}
	}
	o.Nodes = append(o.Nodes, Node{Name: name, Range: prefix})
}

// Routes are the routes to the pods of all nodes.
type Routes struct {
	Prefixes []string
	Gateways []string            // gateway to each of Prefixes; empty when the plugin or the routers of racks choose them
	Own      map[string][]string // prefixes of each node
}

// WantedRoutes returns the routes that nodes must have, each one those to the other nodes of the inventory.
// With VXLAN the gateways are addresses of Calico.
func WantedRoutes(c *cluster.Cluster, found Objects) Routes {
	out := Routes{Prefixes: []string{}, Gateways: []string{}, Own: map[string][]string{}}
	add := func(node, text string) {
		if _, err := netip.ParsePrefix(text); err == nil && slices.Contains(c.NodeNames, node) {
			out.Own[node] = append(out.Own[node], text)
		}
	}
	switch c.Network.Plugin {
	case cluster.PluginBGP:
		for _, n := range found.Nodes {
			for _, prefix := range cluster.SplitList(n.Range) {
				add(n.Name, prefix)
			}
		}
	case cluster.PluginCalico:
		for _, b := range found.Blocks {
			if b.Announced {
				add(b.Node, b.CIDR)
			}
		}
	}
	for _, node := range c.NodeNames {
		for _, prefix := range out.Own[node] {
			out.Prefixes = append(out.Prefixes, prefix)
			if usesBIRD(c) && c.Network.OneLayer2() {
				out.Gateways = append(out.Gateways, cluster.OfFamily(strings.Join(c.Nodes[node].IPs, ","), cluster.FamilyOf(prefix)))
			}
		}
	}
	return out
}

// usesBIRD reports whether nodes learn their routes from BIRD.
func usesBIRD(c *cluster.Cluster) bool {
	return c.Network.Plugin == cluster.PluginBGP || c.Network.Calico.Backend == cluster.BackendBIRD
}
