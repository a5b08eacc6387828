package cluster

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// Interface is a network interface of a host, as the host describes it.
type Interface struct {
	Name      string
	Up        bool
	Loopback  bool
	Addresses []netip.Prefix // with the length of their network
}

// virtualInterfaces are patterns of the names of interfaces that container runtimes, pod networks
// and virtual machines make: no other host is behind them.
var virtualInterfaces = []string{
	"br-*", "cali*", "cbr*", "cilium*", "cni*", "docker*", "dummy*", "flannel*", "gre*", "kube-*", "lxc*", "lxdbr*", "nodelocaldns",
	"podman*", "tunl*", "veth*", "virbr*", "vnet*", "vxlan*", "weave*",
}

// ChooseNodeAddress returns the address of a host that other hosts reach: the one in the network, on
// the interface with the name. An invalid network and an empty name stand for any; without a name,
// interfaces that programs make for pods and virtual machines are left out, and so are addresses of
// one address each (/32 and /128) beside others on their interface, as VRRP has them. An interface
// alone prefers IPv4. The error says why there is not exactly one.
func ChooseNodeAddress(interfaces []Interface, network netip.Prefix, name string) (netip.Addr, error) {
	type candidate struct {
		address netip.Addr
		device  string
	}
	var found []candidate
	var others []string
	for _, i := range interfaces {
		usable := i.Up && !i.Loopback && (name == i.Name || name == "" && !isVirtual(i.Name))
		for _, p := range i.Addresses {
			a := p.Addr().Unmap()
			switch {
			case !a.IsGlobalUnicast():
			case usable && (!network.IsValid() || network.Contains(a)) && !isAdditional(p, i.Addresses):
				found = append(found, candidate{a, i.Name})
			default:
				others = append(others, fmt.Sprintf("%s (%s)", p, i.Name))
			}
		}
	}
	if !network.IsValid() && slices.ContainsFunc(found, func(c candidate) bool { return c.address.Is4() }) {
		found = slices.DeleteFunc(found, func(c candidate) bool { return !c.address.Is4() })
	}
	switch len(found) {
	case 1:
		return found[0].address, nil
	case 0:
		if len(others) == 0 {
			return netip.Addr{}, fmt.Errorf("the host has no such address, and no other one")
		}
		slices.Sort(others)
		return netip.Addr{}, fmt.Errorf("the host has no such address; it has %s", strings.Join(others, ", "))
	}
	var texts []string
	for _, c := range found {
		texts = append(texts, fmt.Sprintf("%s (%s)", c.address, c.device))
	}
	slices.Sort(texts)
	return netip.Addr{}, fmt.Errorf("the host has several: %s; write the right one as node_address, or name its interface as node_interface", strings.Join(texts, ", "))
}

func isVirtual(name string) bool {
	return slices.ContainsFunc(virtualInterfaces, func(pattern string) bool {
		match, _ := path.Match(pattern, name)
		return match
	})
}

// isAdditional reports whether an address is one that was added to an interface, such as that of
// VRRP: it has no network, and the interface has another address of its family.
func isAdditional(p netip.Prefix, all []netip.Prefix) bool {
	return p.IsSingleIP() && slices.ContainsFunc(all, func(other netip.Prefix) bool {
		return other != p && other.Addr().Is4() == p.Addr().Is4() && other.Addr().IsGlobalUnicast()
	})
}
