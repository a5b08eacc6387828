package cluster

import (
	"maps"
	"net/netip"
	"slices"
)

// blockSizes are the prefix lengths that blocks may have (libcalico-go, lib/apis/v3, IPPoolSpec).
var blockSizes = map[string]struct{ from, to int }{FamilyIPv4: {20, 32}, FamilyIPv6: {116, 128}}

// checkPools checks the blocks and ranges of the pools.
func (c *checker) checkPools(s CalicoSpec) {
	const key = "cluster.network.calico"
	taken := map[string]netip.Prefix{}
	for name, list := range map[string]string{"pod_cidr": c.spec.PodCIDR, "service_cidr": c.spec.ServiceCIDR} {
		for _, text := range SplitList(list) {
			if p, err := netip.ParsePrefix(text); err == nil {
				taken[name+map[string]string{FamilyIPv6: " (IPv6)"}[FamilyOf(text)]] = p
			}
		}
	}
	c.checkBlocks(key, FamilyIPv4, s)
	c.checkBlocks(key, FamilyIPv6, s)
	names := map[string]bool{defaultPools[FamilyIPv4]: true, defaultPools[FamilyIPv6]: true}
	for _, p := range s.Pools {
		switch {
		case !dnsLabel.MatchString(p.Name):
			c.add("bad-pool", key+".pools", "%q is not the name of a pool: use small letters, digits and dashes", p.Name)
		case names[p.Name]:
			c.add("bad-pool", key+".pools."+p.Name, "two pools have this name: rename one")
		}
		names[p.Name] = true
		if cidr, ok := c.checkPool(key+".pools."+p.Name, p, taken); ok {
			taken["pool "+p.Name] = cidr
		}
	}
}

// checkPool checks a pool of the user's own; ok is false when it has no usable range.
func (c *checker) checkPool(where string, p CalicoPool, taken map[string]netip.Prefix) (cidr netip.Prefix, ok bool) {
	cidr, err := parseCIDR(p.CIDR)
	if err != nil {
		c.add("bad-cidr", where, "%v", err)
		return cidr, false
	}
	family := FamilyOf(cidr.String())
	if pods := c.spec.families(); len(pods) > 0 && !slices.Contains(pods, family) {
		c.add("mixed-families", where, "%s is of a family that pod_cidr %s does not have, so no pod would get an address of it: add a range of this family to pod_cidr", cidr, c.spec.PodCIDR)
		return cidr, false
	}
	if size := blockSizes[family]; p.BlockSize < size.from || p.BlockSize > size.to || p.BlockSize < cidr.Bits() {
		c.add("bad-block-size", where, "%d is not a size of blocks of %s: use %d to %d", p.BlockSize, cidr, max(size.from, cidr.Bits()), size.to)
	}
	for _, other := range slices.Sorted(maps.Keys(taken)) {
		if taken[other].Overlaps(cidr) {
			c.add("overlap", where, "%s overlaps %s %s: choose a range of its own", cidr, other, taken[other])
		}
	}
	c.checkHostsOutside(where, cidr)
	return cidr, true
}

// checkBlocks checks the size of the blocks in the range of pod_cidr of a family.
func (c *checker) checkBlocks(section, family string, s CalicoSpec) {
	text := OfFamily(c.spec.PodCIDR, family)
	if text == "" {
		return
	}
	setting := map[string]string{FamilyIPv4: "block_size", FamilyIPv6: "block_size_ipv6"}[family]
	key, bits, size := section+"."+setting, s.blockSize(family), blockSizes[family]
	switch p, err := netip.ParsePrefix(text); {
	case bits < size.from || bits > size.to:
		c.add("bad-block-size", key, "%d is not a size of blocks: use %d to %d", bits, size.from, size.to)
	case err != nil: // reported by checkRanges
	case bits < p.Bits():
		c.add("bad-block-size", key, "blocks of /%d do not fit into %s", bits, p)
	case subnetCount(p, bits) < uint64(len(c.place.nodes)):
		c.add("pod-cidr-too-small", key, "%s has %d blocks of /%d, but there are %d nodes: raise %s", p, subnetCount(p, bits), bits, len(c.place.nodes), setting)
	}
}

// checkEncapsulation refuses IPIP, which carries IPv4 only, in a cluster of IPv6.
func (c *checker) checkEncapsulation(s CalicoSpec) {
	const key = "cluster.network.calico.encapsulation"
	c.oneOf("unknown-encapsulation", key, s.Encapsulation, Encapsulations()...)
	if ipip, _ := modes(s.Encapsulation); ipip != "Never" && len(c.spec.families()) > 0 && !slices.Contains(c.spec.families(), FamilyIPv4) {
		c.add("ipip-ipv6", key, "%s carries IPv4 only, and pods have IPv6 addresses only: use none, %s or %s", s.Encapsulation, EncapsulationVXLAN, EncapsulationVXLANCrossSubnet)
	}
}
