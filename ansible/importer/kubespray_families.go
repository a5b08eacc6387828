package importer

import (
	"cmp"
	"net/netip"
	"strings"
)

// familyVars are the variables of Kubespray that choose the families of addresses.
var familyVars = []string{
	"enable_dual_stack_networks", "ipv4_stack", "ipv6_stack",
	"kube_pods_subnet_ipv6", "kube_service_addresses_ipv6", "kube_network_node_prefix_ipv6",
}

// Kubespray's defaults (roles/kubespray_defaults).
const (
	kubesprayPods         = "10.233.64.0/18"
	kubesprayServices     = "10.233.0.0/18"
	kubesprayPodsIPv6     = "fd85:ee78:d8a6:8607::1:0000/112"
	kubesprayServicesIPv6 = "fd85:ee78:d8a6:8607::1000/116"
	kubesprayPrefixIPv6   = 120
)

// stack returns the families of the cluster. Releases before 2.28 have both with
// enable_dual_stack_networks; later ones name each, in ipv4_stack and ipv6_stack.
func (c *converter) stack() (ipv4, ipv6 bool) {
	on := func(name string, otherwise bool) bool {
		v, isBool := boolean(c.network[name].v)
		if b, _ := v.(bool); isBool {
			return b
		}
		return otherwise
	}
	return on("ipv4_stack", true), on("ipv6_stack", on("enable_dual_stack_networks", false))
}

// families adds the IPv6 ranges of Kubespray to those of IPv4, as lists of both; without IPv4 they take
// their place.
func (c *converter) families() {
	ipv4, ipv6 := c.stack()
	if !ipv6 {
		return
	}
	for _, r := range []struct{ key, ipv4, name, ipv6 string }{
		{"pod_cidr", kubesprayPods, "kube_pods_subnet_ipv6", kubesprayPodsIPv6},
		{"service_cidr", kubesprayServices, "kube_service_addresses_ipv6", kubesprayServicesIPv6},
	} {
		v := c.network[r.name]
		prefix, err := netip.ParsePrefix(cmp.Or(text(v), r.ipv6))
		if err != nil {
			c.note(v.at, describe(r.name, v.v), "is not a range: add the IPv6 range to cluster."+r.key)
			continue
		}
		ranges := []string{prefix.Masked().String()}
		if ipv4 {
			ranges = append([]string{cmp.Or(c.cluster.text(r.key), r.ipv4)}, ranges...)
		}
		c.cluster.setPath([]string{r.key}, strings.Join(ranges, ","))
	}
	c.cluster.setPath([]string{"node_prefix_ipv6"}, kubesprayPrefixIPv6)
	if v := c.network["kube_network_node_prefix_ipv6"]; v.v != nil {
		if n, ok := number(v.v); ok {
			c.cluster.setPath([]string{"node_prefix_ipv6"}, n)
		}
	}
}

// bothAddresses returns the node address of a host with its ip6: after the one of IPv4, or alone when
// the cluster has no IPv4.
func (c *converter) bothAddresses(node, ip6 string) string {
	if ipv4, _ := c.stack(); !ipv4 {
		return ip6
	}
	if _, err := netip.ParseAddr(node); err != nil {
		return ip6
	}
	return node + "," + ip6
}
