package cluster

import (
	"net/netip"
	"strings"
)

// Families of addresses.
const (
	FamilyIPv4 = "ipv4"
	FamilyIPv6 = "ipv6"
)

// FamilyOf returns the family of an address or a range.
func FamilyOf(text string) string {
	if strings.Contains(text, ":") {
		return FamilyIPv6
	}
	return FamilyIPv4
}

// SplitList returns the parts of a list as the flags of Kubernetes have it, separated by commas. An
// empty text has none.
func SplitList(text string) []string {
	out := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// OfFamily returns the first address or range of a family in a list as [SplitList] takes it; empty
// for none.
func OfFamily(list, family string) string {
	for _, part := range SplitList(list) {
		if FamilyOf(part) == family {
			return part
		}
	}
	return ""
}

// families returns the families of the pods, that of primary addresses first.
func (s Spec) families() []string {
	var out []string
	for _, r := range SplitList(s.PodCIDR) {
		out = append(out, FamilyOf(r))
	}
	return out
}

// nodePrefix returns the prefix length of the nodes' ranges of a family.
func (s Spec) nodePrefix(family string) int {
	if family == FamilyIPv6 {
		return s.NodePrefixIPv6
	}
	return s.NodePrefix
}

// nodePrefixes returns the prefix length of the nodes' ranges in each range of pod_cidr.
func (s Spec) nodePrefixes() []int {
	var out []int
	for _, family := range s.families() {
		out = append(out, s.nodePrefix(family))
	}
	return out
}

// isDualStack reports whether pods have addresses of both families.
func (s Spec) isDualStack() bool { return len(SplitList(s.PodCIDR)) > 1 }

// hasIPv6 reports whether pods have IPv6 addresses.
func (s Spec) hasIPv6() bool { return OfFamily(s.PodCIDR, FamilyIPv6) != "" }

// FurtherFamily returns the family of the addresses that pods, Services and nodes have beside their
// primary ones; empty in a cluster of one family.
func (c *Cluster) FurtherFamily() string {
	if len(c.Families) < 2 {
		return ""
	}
	return c.Families[1]
}

// nthAddresses returns the nth address of each range, counted from 0.
func nthAddresses(ranges []string, n uint64) []string {
	out := []string{}
	for _, r := range ranges {
		a, _ := nthAddr(netip.MustParsePrefix(r), n)
		out = append(out, a.String())
	}
	return out
}

// addresses returns the addresses of a host in the families of the pods, in their order. The first is
// the one at which the other hosts reach it; a host that is no node may have no other.
func (h Host) addresses(families []string) []string {
	out := []string{}
	all := h.ips()
	for _, family := range families {
		for _, a := range all {
			if FamilyOf(a.String()) == family {
				out = append(out, a.String())
				break
			}
		}
	}
	return out
}

// second returns the second of the host's addresses; the zero Addr without one.
func (h Host) second(families []string) netip.Addr {
	if all := h.addresses(families); len(all) > 1 {
		return netip.MustParseAddr(all[1])
	}
	return netip.Addr{}
}

// byFamily returns the addresses of the sessions that carry the routes of each family; empty without
// one.
func (s Speaker) byFamily() (ipv4, ipv6 string) {
	for _, a := range []netip.Addr{s.IP, s.Second} {
		switch {
		case !a.IsValid():
		case a.Is4():
			ipv4 = a.String()
		default:
			ipv6 = a.String()
		}
	}
	return ipv4, ipv6
}
