package cluster

import "net/netip"

// NodeLocalDNSSpec is the `cluster.dns.node_local:` section.
type NodeLocalDNSSpec struct {
	Enabled     bool `yaml:"enabled" default:"false" doc:"Run a DNS cache on every node at 169.254.20.10 (fd00:20::10 where IPv6 comes first), a CoreDNS that asks cluster DNS, and give it to new pods as their first name server; cluster DNS is the second."`
	MemoryLimit int  `yaml:"memory_limit_mib" default:"170" doc:"Memory limit of the cache of each node in MiB."`
}

// The addresses of caches: the one that Kubernetes' NodeLocal DNSCache uses
// (kubernetes.io/docs/tasks/administer-cluster/nodelocaldns), and one of IPv6 that no network is likely to
// have.
const (
	nodeDNSIPv4 = "169.254.20.10"
	nodeDNSIPv6 = "fd00:20::10"
)

// The ports of the cache, all of them at its own address. 9253 is the port for metrics of NodeLocal DNSCache; nothing is
// registered at the next two.
const (
	portNodeDNS        = 53
	portNodeDNSMetrics = 9253
	portNodeDNSHealth  = 9254
	portNodeDNSReady   = 9255
)

// The files of the cache.
const (
	unitNodeDNS     = "deployer-node-dns.service"
	manifestNodeDNS = "node-dns.yaml"
	dirNodeDNS      = dirKubernetes + "/node-dns"
)

// NodeLocalDNS is the DNS cache of the nodes.
type NodeLocalDNS struct {
	Enabled        bool   `json:"enabled"`          // true when nodes run a cache
	Address        string `json:"address"`          // address of the cache on every node
	Prefix         string `json:"prefix"`           // the same with the prefix length of one address
	MemoryLimitMiB int    `json:"memory_limit_mib"` // memory limit of each cache, in MiB
}

// resolve returns the cache of a cluster. family is the one of the pods' first addresses.
func (s NodeLocalDNSSpec) resolve(family string) NodeLocalDNS {
	address := netip.MustParseAddr(nodeDNSIPv4)
	if family == FamilyIPv6 {
		address = netip.MustParseAddr(nodeDNSIPv6)
	}
	return NodeLocalDNS{
		Enabled: s.Enabled, Address: address.String(), Prefix: netip.PrefixFrom(address, address.BitLen()).String(),
		MemoryLimitMiB: s.MemoryLimit,
	}
}

// servers returns the name servers of pods: the cache of their node, and cluster DNS when it does not answer.
func (d DNS) servers() []any {
	if d.NodeLocal.Enabled {
		return []any{d.NodeLocal.Address, d.IP}
	}
	return []any{d.IP}
}

// checkNodeDNS checks that nothing else has the address of the caches.
func (c *checker) checkNodeDNS() {
	const key = "cluster.dns.node_local.enabled"
	families := c.spec.families()
	if !c.spec.DNS.NodeLocal.Enabled || len(families) == 0 {
		return
	}
	address := netip.MustParseAddr(c.spec.DNS.NodeLocal.resolve(families[0]).Address)
	for _, text := range append(SplitList(c.spec.PodCIDR), SplitList(c.spec.ServiceCIDR)...) {
		if p, err := netip.ParsePrefix(text); err == nil && p.Contains(address) {
			c.add("bad-dns-cache", key, "the DNS caches have the address %s, which is in the range %s of pods or Services", address, text)
		}
	}
	for _, h := range c.hosts {
		if h.ip() == address {
			c.add("bad-dns-cache", key, "the DNS caches have the address %s, and so has %s", address, h.Name)
		}
	}
}
