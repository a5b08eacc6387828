package cluster

import (
	"fmt"
	"net/netip"
	"slices"
)

// checkVirtualIP checks the address that moves, and that enough hosts decide who has it.
func (c *checker) checkVirtualIP() {
	const key = "cluster.api.virtual_ip"
	s := c.spec.API.VirtualIP
	if s.RouterID < 1 || s.RouterID > 255 {
		c.add("bad-router-id", key+".router_id", "%d is not a virtual router id of VRRP: use 1 to 255", s.RouterID)
	}
	if s.Address == "" {
		if s.Interface != "" {
			c.add("unused-interface", key+".interface", "there is no virtual address for interface %s: set address, or remove it", s.Interface)
		}
		if len(s.Former) > 0 {
			c.add("unused-address", key+".former", "there is no virtual address that clients use after %s: set address, or remove former", s.Former[0])
		}
		return
	}
	seen := map[netip.Addr]bool{}
	for i, text := range append([]string{s.Address}, s.Former...) {
		at := key + ".address"
		if i > 0 {
			at = fmt.Sprintf("%s.former[%d]", key, i-1)
		}
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" || !address.Unmap().IsGlobalUnicast() {
			c.add("bad-address", at, "%q is not an IP address that a host can have: write one such as 10.0.0.100, without a prefix length", text)
			return
		}
		address = address.Unmap()
		if seen[address] {
			c.add("duplicate-address", at, "%s is a virtual address already: write each once", address)
		}
		seen[address] = true
		c.checkVirtualAddress(at, address)
	}
	if n := len(c.place.witnesses(c.hosts)); len(c.place.holders()) > 1 && n < minWitnesses {
		c.add("no-majority", key+".address", "%d hosts cannot tell a host that is dead from a link that is cut, so the address would not move: add a host of any role, or let one host hold it", n)
	}
	if len(c.place.proxies) > 0 && c.spec.Proxy.Kind != ProxyHAProxy {
		c.add("proxy-cannot-listen", key+".address", "nginx does not listen on an address that its host does not have yet: set cluster.proxy.kind: %s, or remove the virtual address", ProxyHAProxy)
	}
}

// checkVirtualAddress compares the address with the hosts and the ranges of the cluster.
func (c *checker) checkVirtualAddress(key string, address netip.Addr) {
	for _, r := range []struct{ name, cidr string }{{"pod_cidr", c.spec.PodCIDR}, {"service_cidr", c.spec.ServiceCIDR}} {
		for _, text := range SplitList(r.cidr) {
			if p, err := parseCIDR(text); err == nil && p.Contains(address) {
				c.add("overlap", key, "%s is in %s %s: choose a free address of the hosts' network", address, r.name, p)
			}
		}
	}
	for _, h := range c.hosts {
		ip := h.ip()
		if slices.Contains(h.ips(), address) {
			c.add("duplicate-address", key, "%s is the address of host %s: choose an address that no host has", address, h.Name)
		}
		if ip.IsValid() && ip.Is4() != address.Is4() && slices.Contains(c.place.holders(), h.Name) {
			c.add("mixed-families", key, "%s and the address %s of %s, which may hold it, are of different families: use IPv4 or IPv6 for both", address, ip, h.Name)
			return
		}
	}
}
