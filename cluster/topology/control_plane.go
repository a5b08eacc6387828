package topology

import (
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/shortlist"
)

// ControlPlane draws the ways to the API and from there to etcd: clients outside, hosts of role
// proxy, masters, etcd, and the nodes with their local proxies.
func ControlPlane(c *cluster.Cluster, names Names) *Picture {
	p := &Picture{Title: "control plane of " + c.Name}
	p.outside(c, names)
	p.add(Layer{"masters", "masters", names.boxes("m", c, c.Masters, func(h string) []string { return masterLines(c, h) })})
	members := fmt.Sprintf("port %d", c.Etcd.Members[0].Port)
	if c.Etcd.Dedicated {
		p.add(Layer{"etcd", "etcd", names.boxes("e", c, endpointNames(c.Etcd.Members), func(string) []string {
			return []string{fmt.Sprintf("etcd, ports %d and %d", c.Etcd.Members[0].Port, c.Etcd.Peers[0].Port)}
		})})
		p.link("masters", "etcd", "each API server to all members, "+members)
	}
	if minions := slices.DeleteFunc(slices.Clone(c.Minions), func(h string) bool { return c.Nodes[h].IsMaster }); len(minions) > 0 {
		p.add(Layer{"minions", "minions", []Box{names.box("minion", c, minions, nodeLines(c, minions[0])...)}})
		p.link("minions", "masters", fmt.Sprintf("by the %s of each node on %s to %s", c.Proxy.Kind, c.API.Local, shortlist.Count(len(c.Proxy.Backends), "API server")))
	}
	return p
}

// outside adds clients and what they connect to.
func (p *Picture) outside(c *cluster.Cluster, names Names) {
	clients := Box{ID: "clients", Title: "kubectl and other clients", Lines: []string{c.API.External}}
	p.add(Layer{"outside", "outside of the cluster", []Box{clients}})
	way := "masters"
	if len(c.Proxies) > 0 {
		way = "proxies"
		p.add(Layer{way, "hosts of role proxy", names.boxes("p", c, c.Proxies, func(h string) []string {
			return append([]string{fmt.Sprintf("%s, port %d", c.Proxy.Kind, c.Proxy.Port)}, keepalived(c, h)...)
		})})
		p.link(way, "masters", fmt.Sprintf("to %s, chosen by /readyz", shortlist.Count(len(c.Proxy.Backends), "API server")))
	}
	text := "to " + c.API.External
	if c.API.VirtualIP.Address != "" {
		text = fmt.Sprintf("to the virtual address %s, which one of %s has", c.API.VirtualIP.HostPort, shortlist.Count(len(c.API.VirtualIP.Holders), "host"))
	}
	p.link("outside", way, text)
}

func masterLines(c *cluster.Cluster, host string) []string {
	out := []string{fmt.Sprintf("kube-apiserver, port %d", c.API.Port), "kube-controller-manager", "kube-scheduler"}
	if c.Nodes[host].IsEtcd {
		out = append(out, fmt.Sprintf("etcd, ports %d and %d", c.Etcd.Members[0].Port, c.Etcd.Peers[0].Port))
	}
	if !c.Nodes[host].IsProxy {
		out = append(out, keepalived(c, host)...)
	}
	return out
}

func keepalived(c *cluster.Cluster, host string) []string {
	if !c.Nodes[host].RunsKeepalived {
		return nil
	}
	return []string{"keepalived, " + c.API.VirtualIP.Address}
}

func nodeLines(c *cluster.Cluster, host string) []string {
	out := []string{"kubelet, containerd"}
	if c.Nodes[host].RunsKubeProxy {
		out = append(out, "kube-proxy, "+c.KubeProxy.Mode)
	}
	if c.Nodes[host].RunsLocalProxy {
		out = append(out, c.Proxy.Kind+" on "+strings.TrimPrefix(c.API.Local, "https://"))
	}
	return append(out, "pod network "+c.Network.Plugin)
}

func endpointNames(all []cluster.Endpoint) []string {
	var out []string
	for _, e := range all {
		out = append(out, e.Name)
	}
	return out
}

func (p *Picture) add(l Layer) { p.Layers = append(p.Layers, l) }

func (p *Picture) link(from, to, text string) {
	p.Links = append(p.Links, Link{From: from, To: to, Text: text})
}
