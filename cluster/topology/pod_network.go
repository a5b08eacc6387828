package topology

import (
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/shortlist"
)

// PodNetwork draws the BGP sessions of the nodes: with each other, with route reflectors, and
// with routers outside of the cluster. Without BGP it draws the nodes with their encapsulation.
func PodNetwork(c *cluster.Cluster, names Names) *Picture {
	p := &Picture{Title: fmt.Sprintf("pod network of %s, plugin %s", c.Name, c.Network.Plugin)}
	p.routers(c)
	nodes := c.NodeNames
	if len(c.Network.Reflectors) > 0 {
		p.add(Layer{"reflectors", "route reflectors, with sessions among themselves", names.boxes("r", c, c.Network.Reflectors, func(h string) []string {
			return []string{"cluster ID " + c.Nodes[h].BGP.ClusterID}
		})})
		nodes = without(nodes, c.Network.Reflectors)
	}
	p.nodes(c, names, nodes)
	p.routerLinks(c)
	return p
}

// routers adds the routers outside of the cluster.
func (p *Picture) routers(c *cluster.Cluster) {
	if len(c.Network.PeerSpecs) == 0 {
		return
	}
	layer := Layer{ID: "routers", Title: "routers outside of the cluster"}
	for _, s := range c.Network.PeerSpecs {
		layer.Boxes = append(layer.Boxes, Box{ID: "router_" + s.Name, Title: s.Name, Lines: []string{s.Address, fmt.Sprintf("AS %d", s.ASN)}})
	}
	p.add(layer)
}

// nodes adds the nodes that reflect no routes: a box for those with the same sessions.
func (p *Picture) nodes(c *cluster.Cluster, names Names, nodes []string) {
	layer := Layer{ID: "nodes", Title: "nodes"}
	groups := grouped(nodes, func(h string) string { return sessionKey(c, h) })
	switch {
	case len(c.Network.Reflectors) > 0:
		layer.Title = fmt.Sprintf("nodes with sessions with %s", shortlist.Count(reflectorsOf(c, nodes), "reflector"))
	case c.Network.Mesh && c.Network.RackLabel != "":
		layer.Title = "racks, each a mesh"
	case c.Network.Mesh:
		layer.Title = fmt.Sprintf("nodes, a full mesh of %s", shortlist.Count(len(nodes)*(len(nodes)-1)/2, "session"))
	case c.Network.Plugin == cluster.PluginCalico:
		layer.Title = "nodes, without BGP"
	}
	if len(groups) > maxBoxes {
		groups = [][]string{nodes}
	}
	for i, hosts := range groups {
		id := fmt.Sprintf("n%d", i+1)
		layer.Boxes = append(layer.Boxes, names.box(id, c, hosts, networkLines(c, hosts[0])...))
		p.reflectorLinks(c, id, hosts)
	}
	p.add(layer)
}

// reflectorLinks adds the sessions of the hosts of a box with reflectors.
func (p *Picture) reflectorLinks(c *cluster.Cluster, id string, hosts []string) {
	counts := make([]int, len(c.Network.Reflectors))
	total := 0
	for _, h := range hosts {
		for _, peer := range c.Nodes[h].BGP.Peers {
			if i := slices.Index(c.Network.Reflectors, peer.Name); i >= 0 {
				counts[i]++
				total++
			}
		}
	}
	if len(counts) > maxBoxes { // they are one box
		p.Links = append(p.Links, Link{id, "r", shortlist.Count(total, "session"), true})
		return
	}
	for i, n := range counts {
		if n > 0 {
			p.Links = append(p.Links, Link{id, fmt.Sprintf("r%d", i+1), shortlist.Count(n, "session"), true})
		}
	}
}

// routerLinks adds the sessions with routers, by box.
func (p *Picture) routerLinks(c *cluster.Cluster) {
	for _, s := range c.Network.PeerSpecs {
		for _, l := range p.Layers {
			for _, b := range l.Boxes {
				n := 0
				for _, h := range b.hosts {
					if slices.ContainsFunc(c.Nodes[h].BGP.Routers, func(r cluster.Router) bool { return r.Name == s.Name }) {
						n++
					}
				}
				if n > 0 {
					p.Links = append(p.Links, Link{b.ID, "router_" + s.Name, shortlist.Count(n, "session"), true})
				}
			}
		}
	}
}

// sessionKey is equal for nodes that are drawn together.
func sessionKey(c *cluster.Cluster, host string) string {
	bgp := c.Nodes[host].BGP
	var out []string
	if len(c.Network.Reflectors) > 0 {
		for _, peer := range bgp.Peers {
			out = append(out, peer.Name)
		}
	}
	for _, r := range bgp.Routers {
		out = append(out, "router "+r.Name)
	}
	return strings.Join(append(out, "rack "+bgp.Rack), ", ")
}

func networkLines(c *cluster.Cluster, host string) []string {
	bgp := c.Nodes[host].BGP
	var out []string
	if bgp.Rack != "" {
		out = append(out, "rack "+bgp.Rack)
	}
	if len(bgp.Peers)+len(bgp.Routers) > 0 {
		out = append(out, fmt.Sprintf("AS %d", bgp.ASN))
	}
	for _, pool := range c.Network.Calico.Pools {
		switch {
		case pool.VXLANMode != "Never" && pool.VXLANMode != "":
			out = append(out, pool.CIDR+", VXLAN "+pool.VXLANMode)
		case pool.IPIPMode != "Never" && pool.IPIPMode != "":
			out = append(out, pool.CIDR+", IPIP "+pool.IPIPMode)
		default:
			out = append(out, pool.CIDR)
		}
	}
	return out
}

// reflectorsOf returns the number of reflectors of the first node.
func reflectorsOf(c *cluster.Cluster, nodes []string) int {
	if len(nodes) == 0 {
		return 0
	}
	return len(c.Nodes[nodes[0]].BGP.Peers)
}

// grouped returns hosts with the same key together, in the order of their first ones.
func grouped(hosts []string, key func(string) string) [][]string {
	var out [][]string
	at := map[string]int{}
	for _, h := range hosts {
		k := key(h)
		i, known := at[k]
		if !known {
			i = len(out)
			at[k], out = i, append(out, nil)
		}
		out[i] = append(out[i], h)
	}
	return out
}

func without(hosts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return slices.Contains(others, h) })
}
