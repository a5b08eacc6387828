package cluster

import (
	"net/netip"
	"slices"
)

// HostFirewallSpec is the `cluster.network.host_firewall:` section.
type HostFirewallSpec struct {
	Enabled bool     `yaml:"enabled" default:"false" doc:"Close the ports of etcd (2379, 2380, and 2479, 2480 of etcd for events) to all but masters and etcd hosts, those of etcd for Calico (2579, 2580) to all but nodes and etcd hosts, and that of kubelets (10250) to all but the networks of the hosts (/24, for IPv6 /64) and the pods. An nftables table of deployer's own filters these ports only; false removes it."`
	Allow   []string `yaml:"allow" doc:"Further addresses and networks that may connect to these ports, such as those of a monitoring system."`
}

// HostFirewall is the packet filter of the ports of etcd and the kubelet.
type HostFirewall struct {
	Enabled bool            `json:"enabled"` // true when hosts have the filter
	Etcd    FirewallSources `json:"etcd"`    // addresses and networks that may connect to etcd
	Calico  FirewallSources `json:"calico"`  // addresses and networks that may connect to etcd for Calico
	Kubelet FirewallSources `json:"kubelet"` // addresses and networks that may connect to kubelets
}

// FirewallSources are addresses and networks by version of IP, sorted.
type FirewallSources struct {
	IPv4 []string `json:"ipv4"` // IPv4 addresses and networks
	IPv6 []string `json:"ipv6"` // IPv6 addresses and networks
}

// hostFirewall returns the filter of all hosts. The sources of kubelets are networks, as single
// addresses would change on all nodes with every node that joins; those of etcd change only with
// masters and members.
func (r *resolver) hostFirewall() HostFirewall {
	spec := r.spec.Network.HostFirewall
	etcd, kubelet, calico := slices.Clone(spec.Allow), slices.Clone(spec.Allow), slices.Clone(spec.Allow)
	if spec.Enabled {
		var members []Host
		for _, h := range r.hosts {
			if h.has(RoleMaster) || slices.Contains(r.place.etcd, h.Name) {
				etcd = append(etcd, h.ip().String())
			}
			if len(h.Roles) > 0 {
				members = append(members, h)
			}
		}
		kubelet = slices.Concat(kubelet, hostNetworks(members), SplitList(r.spec.PodCIDR))
		calico = slices.Concat(calico, hostNetworks(members))
	}
	return HostFirewall{Enabled: spec.Enabled, Etcd: firewallSources(etcd), Calico: firewallSources(calico), Kubelet: firewallSources(kubelet)}
}

func firewallSources(texts []string) FirewallSources {
	out := FirewallSources{IPv4: []string{}, IPv6: []string{}}
	for _, text := range texts {
		p, _ := parseSource(text) // Validate has checked it
		if p.Addr().Is4() {
			out.IPv4 = append(out.IPv4, sourceText(p))
		} else {
			out.IPv6 = append(out.IPv6, sourceText(p))
		}
	}
	slices.Sort(out.IPv4)
	slices.Sort(out.IPv6)
	out.IPv4, out.IPv6 = slices.Compact(out.IPv4), slices.Compact(out.IPv6)
	return out
}

// parseSource parses an address or a network.
func parseSource(text string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(text)
	return p, err == nil && p == p.Masked()
}

// sourceText formats a source as nft prints it: an address without a length.
func sourceText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// checkHostFirewall checks the further sources.
func (c *checker) checkHostFirewall() {
	const key = "cluster.network.host_firewall.allow"
	f := c.spec.Network.HostFirewall
	for _, text := range f.Allow {
		if _, ok := parseSource(text); !ok {
			c.add("bad-source", key, "%q is neither an address nor a network such as 10.0.5.0/24", text)
		}
	}
	if len(f.Allow) > 0 && !f.Enabled {
		c.add("unused-source", key, "the firewall is off: set network.host_firewall.enabled: true, or remove the list")
	}
}
