package cluster

import "net/netip"

// checkRanges checks that the address ranges are valid, of the same families, disjoint from each
// other and from the hosts, and large enough.
func (c *checker) checkRanges() {
	pods, podsValid := c.parseRanges("cluster.pod_cidr", c.spec.PodCIDR)
	services, servicesValid := c.parseRanges("cluster.service_cidr", c.spec.ServiceCIDR)
	if !podsValid {
		pods = nil
	}
	if !servicesValid {
		services = nil
	}
	for _, p := range pods {
		for _, s := range services {
			if p.Overlaps(s) {
				c.add("overlap", "cluster.service_cidr", "%s overlaps pod_cidr %s: choose two ranges that share no address", s, p)
			}
		}
	}
	c.checkSameFamilies(pods, services)
	for _, p := range pods {
		c.checkHostsOutside("cluster.pod_cidr", p)
		c.checkPodCapacity(p)
	}
	if len(pods) > 0 {
		c.checkFamily(pods)
	}
	for _, s := range services {
		c.checkHostsOutside("cluster.service_cidr", s)
		c.checkServiceSize(s)
	}
}

// parseRanges parses a list of one range, or of one of each family.
func (c *checker) parseRanges(key, list string) (out []netip.Prefix, valid bool) {
	valid = true
	for _, text := range SplitList(list) {
		p, err := parseCIDR(text)
		if err != nil {
			c.add("bad-cidr", key, "%v", err)
			valid = false
			continue
		}
		out = append(out, p)
	}
	switch {
	case valid && len(out) == 0:
		c.add("bad-cidr", key, "%q has no range: write one such as 10.244.0.0/16", list)
		valid = false
	case valid && (len(out) > 2 || len(out) == 2 && out[0].Addr().Is4() == out[1].Addr().Is4()):
		c.add("same-family", key, "%s has two ranges of one family: write one range, or one of IPv4 and one of IPv6", list)
		valid = false
	}
	return out, valid
}

// checkSameFamilies requires the families of pods for Services, in the same order: the first is that
// of the primary addresses of both.
func (c *checker) checkSameFamilies(pods, services []netip.Prefix) {
	if len(pods) == 0 || len(services) == 0 {
		return
	}
	same := len(pods) == len(services)
	for i := range min(len(pods), len(services)) {
		same = same && pods[i].Addr().Is4() == services[i].Addr().Is4()
	}
	switch {
	case same:
	case len(pods) == 1 && len(services) == 1:
		c.add("mixed-families", "cluster.service_cidr", "%s and pod_cidr %s are of different families: use IPv4 or IPv6 for both", services[0], pods[0])
	default:
		c.add("mixed-families", "cluster.service_cidr", "%s and pod_cidr %s have different families, or another order: write a range of each family in both, as in 10.96.0.0/16,fd00:10:96::/112", c.spec.ServiceCIDR, c.spec.PodCIDR)
	}
}

func (c *checker) checkHostsOutside(key string, p netip.Prefix) {
	for _, h := range c.hosts {
		for _, ip := range h.ips() {
			if len(h.Roles) > 0 && p.Contains(ip) {
				c.add("overlap", key, "%s holds the address %s of host %s: choose a range that no host is in", p, ip, h.Name)
				return // one is enough; the others are in the same network
			}
		}
	}
}

// checkFamily requires an address of each family of the pods on each node, the primary one first: BGP
// sessions of one family do not carry the routes of the other here.
func (c *checker) checkFamily(pods []netip.Prefix) {
	var lacking []Host
	for _, h := range c.hosts {
		ip := h.ip()
		switch {
		case !h.isNode() || !ip.IsValid():
		case ip.Is4() != pods[0].Addr().Is4():
			c.add("mixed-families", "cluster.pod_cidr", "%s and the address %s of node %s are of different families: use IPv4 or IPv6 for both", pods[0], ip, h.Name)
			return
		case len(h.addresses(c.spec.families())) < len(pods):
			lacking = append(lacking, h)
		}
	}
	if len(lacking) > 0 {
		c.add("missing-address", "cluster.pod_cidr", "%s needs an address of its family on each node, and %s and %d other nodes have none: write both as node_address, as in node_address: %s,%s, or two networks as node_network",
			pods[1], lacking[0].Name, len(lacking)-1, lacking[0].ip(), map[bool]string{true: "10.0.0.1", false: "fd00::1"}[pods[1].Addr().Is4()])
	}
}

// checkPodCapacity requires a range for each node, and room in it for max_pods.
func (c *checker) checkPodCapacity(pods netip.Prefix) {
	bits, key := c.spec.nodePrefix(FamilyOf(pods.String())), "node_prefix"
	if pods.Addr().Is6() {
		key = "node_prefix_ipv6"
	}
	if bits < pods.Bits() || bits > pods.Addr().BitLen() {
		c.add("bad-node-prefix", "cluster."+key, "%d does not split pod_cidr %s: choose between %d and %d", bits, pods, pods.Bits(), pods.Addr().BitLen()-2)
		return
	}
	// kubernetes pkg/controller/nodeipam/ipam/cidrset, clusterSubnetMaxDiff.
	if most := pods.Bits() + 16; pods.Addr().Is6() && bits > most {
		c.add("bad-node-prefix", "cluster."+key, "%d is more than 16 above the length of %s, which Kubernetes does not accept: choose at most %d, or a narrower range", bits, pods, most)
		return
	}
	if nodes, have := uint64(len(c.place.nodes)), subnetCount(pods, bits); nodes > have {
		c.add("pod-cidr-too-small", "cluster.pod_cidr", "%s has %d ranges of /%d, but there are %d nodes: widen pod_cidr or raise %s", pods, have, bits, nodes, key)
	}
	if c.spec.Kubelet.MaxPods < 1 && pods.Addr().Is6() && c.spec.isDualStack() {
		return // reported for IPv4
	}
	if c.spec.Kubelet.MaxPods < 1 {
		c.add("bad-max-pods", "cluster.kubelet.max_pods", "%d pods on a node is too few: use at least 1", c.spec.Kubelet.MaxPods)
		return
	}
	room := hostCount(pods.Addr().Is4(), bits)
	if room < uint64(c.spec.Kubelet.MaxPods) {
		c.add("node-range-too-small", "cluster."+key, "a /%d has room for %d pods, but kubelet.max_pods is %d: lower %s or max_pods", bits, room, c.spec.Kubelet.MaxPods, key)
		return
	}
	for _, h := range c.hosts {
		if pods := c.maxPodsOf(h); h.isNode() && pods > 0 && room < uint64(pods) {
			c.add("node-range-too-small", "cluster."+key, "a /%d has room for %d pods, but %s overrides the kubelet's maxPods with %d: lower %s or maxPods", bits, room, h.Name, pods, key)
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
