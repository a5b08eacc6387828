package cluster

import "net/netip"

// checkRanges checks that the address ranges are valid, disjoint from each other and
// from the hosts, and large enough.
func (c *checker) checkRanges() {
	pods, podErr := parseCIDR(c.spec.PodCIDR)
	services, serviceErr := parseCIDR(c.spec.ServiceCIDR)
	if podErr != nil {
		c.add("bad-cidr", "cluster.pod_cidr", "%v", podErr)
	}
	if serviceErr != nil {
		c.add("bad-cidr", "cluster.service_cidr", "%v", serviceErr)
	}
	if podErr == nil && pods.Addr().Is6() {
		c.add("ipv6-pods", "cluster.pod_cidr", "%s is IPv6, which the network plugin %s does not carry yet: use an IPv4 range", pods, c.spec.Network.Plugin)
		return
	}
	if podErr == nil && serviceErr == nil {
		if pods.Overlaps(services) {
			c.add("overlap", "cluster.service_cidr", "%s overlaps pod_cidr %s: choose two ranges that share no address", services, pods)
		}
		if pods.Addr().Is4() != services.Addr().Is4() {
			c.add("mixed-families", "cluster.service_cidr", "%s and pod_cidr %s are of different families: use IPv4 or IPv6 for both", services, pods)
		}
	}
	if podErr == nil {
		c.checkHostsOutside("cluster.pod_cidr", pods)
		c.checkPodCapacity(pods)
		c.checkFamily(pods)
	}
	if serviceErr == nil {
		c.checkHostsOutside("cluster.service_cidr", services)
		c.checkServiceSize(services)
	}
}

func (c *checker) checkHostsOutside(key string, p netip.Prefix) {
	for _, h := range c.hosts {
		if ip := h.ip(); len(h.Roles) > 0 && ip.IsValid() && p.Contains(ip) {
			c.add("overlap", key, "%s holds the address %s of host %s: choose a range that no host is in", p, ip, h.Name)
			return // one is enough; the others are in the same network
		}
	}
}

// checkFamily refuses pods of one address family on nodes of the other: BGP sessions of
// one family do not carry the routes of the other here.
func (c *checker) checkFamily(pods netip.Prefix) {
	for _, h := range c.hosts {
		ip := h.ip()
		if h.isNode() && ip.IsValid() && ip.Is4() != pods.Addr().Is4() {
			c.add("mixed-families", "cluster.pod_cidr", "%s and the address %s of node %s are of different families: use IPv4 or IPv6 for both", pods, ip, h.Name)
			return
		}
	}
}

// checkPodCapacity requires a range for each node, and room in it for max_pods.
func (c *checker) checkPodCapacity(pods netip.Prefix) {
	bits := c.spec.NodePrefix
	if bits < pods.Bits() || bits > pods.Addr().BitLen() {
		c.add("bad-node-prefix", "cluster.node_prefix", "%d does not split pod_cidr %s: choose between %d and %d", bits, pods, pods.Bits(), pods.Addr().BitLen()-2)
		return
	}
	if nodes, have := uint64(len(c.place.nodes)), subnetCount(pods, bits); nodes > have {
		c.add("pod-cidr-too-small", "cluster.pod_cidr", "%s has %d ranges of /%d, but there are %d nodes: widen pod_cidr or raise node_prefix", pods, have, bits, nodes)
	}
	if c.spec.Kubelet.MaxPods < 1 {
		c.add("bad-max-pods", "cluster.kubelet.max_pods", "%d pods on a node is too few: use at least 1", c.spec.Kubelet.MaxPods)
		return
	}
	room := hostCount(pods.Addr().Is4(), bits)
	if room < uint64(c.spec.Kubelet.MaxPods) {
		c.add("node-range-too-small", "cluster.node_prefix", "a /%d has room for %d pods, but kubelet.max_pods is %d: lower node_prefix or max_pods", bits, room, c.spec.Kubelet.MaxPods)
		return
	}
	for _, h := range c.hosts {
		if pods := c.maxPodsOf(h); h.isNode() && pods > 0 && room < uint64(pods) {
			c.add("node-range-too-small", "cluster.node_prefix", "a /%d has room for %d pods, but %s overrides the kubelet's maxPods with %d: lower node_prefix or maxPods", bits, room, h.Name, pods)
			return // one is enough: an override mostly holds for a group
		}
	}
}

// checkServiceSize: the API's address is the first of the range, the DNS
// server's the tenth. The API server accepts at most 20 bits of addresses for
// IPv4 and for IPv6 (kube-apiserver: cmd/kube-apiserver/app/options/validation,
// maxCIDRBits).
func (c *checker) checkServiceSize(services netip.Prefix) {
	const maxBits = 20
	free := services.Addr().BitLen() - services.Bits()
	if free > maxBits {
		c.add("service-cidr-too-large", "cluster.service_cidr", "%s is larger than the API server accepts: use /%d or smaller", services, services.Addr().BitLen()-maxBits)
	}
	// 4 bits hold the tenth address, but leave five Services.
	if free < 5 {
		c.add("service-cidr-too-small", "cluster.service_cidr", "%s has room for %d Services: use /%d or wider", services, max(0, 1<<free-2), services.Addr().BitLen()-8)
	}
}
