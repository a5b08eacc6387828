package cluster

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// checkCalico checks the settings of Calico.
func (c *checker) checkCalico() {
	const key = "cluster.network.calico"
	s := c.spec.Network.Calico
	if c.spec.Network.Plugin != PluginCalico {
		if c.calico {
			c.add("unused-calico", key, "network.plugin is %s, which has no such settings: remove them, or set network.plugin: calico", c.spec.Network.Plugin)
		}
		return
	}
	c.oneOf("unknown-encapsulation", key+".encapsulation", s.Encapsulation, Encapsulations()...)
	c.oneOf("unknown-typha", key+".typha", s.Typha, TyphaAuto, TyphaAlways, TyphaNever)
	if c.spec.Network.CNI != "bridge" {
		c.add("unused-cni", "cluster.network.cni", "with network.plugin: calico pods are connected by Calico: remove the setting")
	}
	if backend(s.Encapsulation) == backendVXLAN && len(c.spec.Network.Reflectors) > 0 {
		c.add("unused-reflectors", "cluster.network.reflectors", "with network.calico.encapsulation: %s there is no BGP: remove them", s.Encapsulation)
	}
	owned := ownedFelix(c.spec)
	for _, name := range slices.Sorted(maps.Keys(s.Felix)) {
		if _, ok := owned[name]; ok {
			c.add("owned-setting", key+".felix."+name, "deployer makes this setting of FelixConfiguration: remove it")
		}
	}
	c.checkCalicoDatastore()
	c.checkPools(s)
	c.checkCalicoVersion()
}

// The minor versions of Calico 3 for which deployer has objects. Older ones have other kinds and rights, and
// v3.32 has two flavours of kinds, which must not be mixed.
const oldestCalico, newestCalico = 28, 31

// checkCalicoVersion refuses versions of Calico for which deployer has no objects.
func (c *checker) checkCalicoVersion() {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(c.spec.Versions.Calico, "v"))
	if err != nil || c.spec.AllowUntested { // checkVersions reports the first
		return
	}
	if v.Major() != 3 || v.Minor() < oldestCalico || v.Minor() > newestCalico {
		c.add(codeUnknownVersion, "cluster.versions.calico", "%s is not among the supported versions: v3.%d to v3.%d", c.spec.Versions.Calico, oldestCalico, newestCalico)
	}
}

// checkPools checks the blocks and ranges of the pools.
func (c *checker) checkPools(s CalicoSpec) {
	const key = "cluster.network.calico"
	taken := map[string]string{}
	for key, list := range map[string]string{"pod_cidr": c.spec.PodCIDR, "service_cidr": c.spec.ServiceCIDR} {
		for _, cidr := range SplitList(list) {
			taken[key+map[string]string{FamilyIPv6: " (IPv6)"}[FamilyOf(cidr)]] = cidr
		}
	}
	block := func(key string, bits int, cidr string) {
		switch p, err := netip.ParsePrefix(cidr); {
		case bits < 20 || bits > 32:
			c.add("bad-block-size", key, "%d is not a size of blocks: use 20 to 32", bits)
		case err == nil && bits < p.Bits():
			c.add("bad-block-size", key, "blocks of /%d do not fit into %s", bits, cidr)
		case err == nil && subnetCount(p, bits) < uint64(len(c.place.nodes)):
			c.add("pod-cidr-too-small", key, "%s has %d blocks of /%d, but there are %d nodes: raise block_size", cidr, subnetCount(p, bits), bits, len(c.place.nodes))
		}
	}
	if cidr := OfFamily(c.spec.PodCIDR, FamilyIPv4); cidr != "" {
		block(key+".block_size", s.BlockSize, cidr)
	}
	c.checkPoolIPv6(s)
	names := map[string]bool{defaultPool: true, defaultPoolIPv6: true}
	for _, p := range s.Pools {
		where := key + ".pools." + p.Name
		cidr, err := parseCIDR(p.CIDR)
		switch {
		case !dnsLabel.MatchString(p.Name):
			c.add("bad-pool", key+".pools", "%q is not the name of a pool: use small letters, digits and dashes", p.Name)
		case names[p.Name]:
			c.add("bad-pool", where, "two pools have this name: rename one")
		case err != nil:
			c.add("bad-cidr", where, "%v", err)
		case cidr.Addr().Is6():
			c.add("ipv6-pods", where, "%s is IPv6, which is not supported yet: use an IPv4 range", cidr)
		}
		names[p.Name] = true
		if err != nil || cidr.Addr().Is6() {
			continue
		}
		if p.BlockSize < 20 || p.BlockSize > 32 || p.BlockSize < cidr.Bits() {
			c.add("bad-block-size", where, "%d is not a size of blocks of %s: use %d to 32", p.BlockSize, cidr, max(20, cidr.Bits()))
		}
		for _, other := range slices.Sorted(maps.Keys(taken)) {
			if o, err := netip.ParsePrefix(taken[other]); err == nil && o.Overlaps(cidr) {
				c.add("overlap", where, "%s overlaps %s %s: choose a range of its own", cidr, other, o)
			}
		}
		taken["pool "+p.Name] = p.CIDR
		c.checkHostsOutside(where, cidr)
	}
}

// checkPoolIPv6 checks the blocks of the IPv6 range of pods.
func (c *checker) checkPoolIPv6(s CalicoSpec) {
	const key = "cluster.network.calico.block_size_ipv6"
	p, err := netip.ParsePrefix(OfFamily(c.spec.PodCIDR, FamilyIPv6))
	switch bits := s.BlockSizeIPv6; {
	case err != nil:
	case bits < 116 || bits > 128:
		c.add("bad-block-size", key, "%d is not a size of blocks: use 116 to 128", bits)
	case bits < p.Bits():
		c.add("bad-block-size", key, "blocks of /%d do not fit into %s", bits, p)
	case subnetCount(p, bits) < uint64(len(c.place.nodes)):
		c.add("pod-cidr-too-small", key, "%s has %d blocks of /%d, but there are %d nodes: raise block_size_ipv6", p, subnetCount(p, bits), bits, len(c.place.nodes))
	}
}
