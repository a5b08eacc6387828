package cluster

import (
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

const keyBGP = "cluster.network.bgp"

// keyPeer returns the key of a router in the inventory.
func keyPeer(index int) string { return fmt.Sprintf("%s.peers[%d]", keyBGP, index) }

var (
	routerName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)
	// bgpPassword matches passwords that need no quoting in BIRD's configuration, and that the kernel
	// accepts: at most 80 bytes (TCP_MD5SIG_MAXKEYLEN).
	bgpPassword = regexp.MustCompile(`^[A-Za-z0-9._+/=-]{1,80}$`)
)

// reservedASN reports whether a number is of no autonomous system: 0 and 23456 are reserved, as are
// the last of each size (RFC 7607, 6793, 7300).
func reservedASN(n uint32) bool {
	return slices.Contains([]uint32{0, 23456, 65535, 4294967295}, n)
}

// checkBGP checks routers outside of the cluster, racks and announced ranges.
func (c *checker) checkBGP() {
	s := c.spec.Network.BGP
	if reflect.DeepEqual(s, BGPSpec{}.withDefaults()) {
		return
	}
	switch n := c.spec.Network; {
	case n.Plugin == PluginNone:
		c.add("unused-bgp", keyBGP, "with network.plugin: %s deployer sets up no BGP sessions: remove it", n.Plugin)
		return
	case !n.routesByBGP():
		c.add("unused-bgp", keyBGP, "with network.calico.encapsulation: %s there is no BGP: remove it", n.Calico.Encapsulation)
		return
	}
	names, ends := map[string]bool{}, map[string]string{}
	for i, p := range s.Peers {
		c.checkPeer(keyPeer(i), p, names, ends)
	}
	if s.RackLabel != "" {
		c.checkRacks(s)
	}
	c.checkAdvertised(s)
}

// checkPeer checks a router. names are those of former routers, ends the former routers by node and address.
func (c *checker) checkPeer(key string, p BGPPeerSpec, names map[string]bool, ends map[string]string) {
	if !routerName.MatchString(p.Name) {
		c.add("bad-peer", key+".name", "%q is not the name of a router: use at most 40 small letters, digits and dashes", p.Name)
		return
	}
	if names[p.Name] {
		c.add("bad-peer", key+".name", "two routers have this name: rename one")
		return
	}
	names[p.Name] = true
	address, err := netip.ParseAddr(p.Address)
	if err != nil || address.IsUnspecified() || address.IsLoopback() || address.IsMulticast() || address.Zone() != "" {
		c.add("bad-address", key+".address", "%q is not the IP address of a router", p.Address)
		return
	}
	address = address.Unmap()
	if family := FamilyOf(address.String()); !slices.Contains(c.spec.families(), family) {
		c.add("mixed-families", key+".address", "the cluster has no pods of the family of %s: a session carries the routes of its own family", address)
		return
	}
	selected := 0
	for _, h := range c.hosts {
		if slices.Contains(h.ips(), address) && len(h.Roles) > 0 {
			c.add("bad-address", key+".address", "%s is the address of host %s of the cluster: nodes have sessions with each other without that", address, h.Name)
		}
		if !p.selects(h) {
			continue
		}
		selected++
		end := h.Name + " " + address.String()
		if other := ends[end]; other != "" {
			c.add("bad-peer", key+".address", "node %s would have two sessions with %s, as %s, too: remove one of them, or select other nodes", h.Name, address, other)
			return
		}
		ends[end] = p.Name
	}
	if selected == 0 {
		c.add("unused-peer", key+".nodes", "no node has these labels: correct them, or give labels to hosts or groups")
	}
	if reservedASN(p.ASN) {
		c.add("bad-asn", key+".asn", "%d is a reserved number: use that of the router", p.ASN)
	}
	if p.LocalASN != 0 && reservedASN(p.LocalASN) {
		c.add("bad-asn", key+".local_asn", "%d is a reserved number: use a private one such as 64512", p.LocalASN)
	}
	if p.Hops < 1 || p.Hops > 255 {
		c.add("bad-number", key+".hops", "%d is not a number of hops: use 1 to 255", p.Hops)
	}
	if p.Password != "" && !bgpPassword.MatchString(p.Password) {
		c.add("bad-password", key+".password", "a password has 1 to 80 letters, digits and . _ + / = -")
	}
	for _, text := range p.Accept {
		switch cidr, err := parseCIDR(text); {
		case err != nil:
			c.add("bad-cidr", key+".accept", "%v", err)
		case cidr.Addr().Is4() != address.Is4():
			c.add("mixed-families", key+".accept", "%s is of another family than the address of the router: a session carries the routes of its own family", cidr)
		}
	}
	if p.Hops > 1 && (len(p.Accept) > 0 || p.AcceptAll) {
		c.add("far-router", key+".accept", "the router is no neighbour of the node, so the node cannot send packets to it directly: accept routes of routers in the node's own networks")
	}
	if c.spec.Network.Plugin != PluginCalico {
		return
	}
	if p.BFD {
		c.add("no-bfd", key+".bfd", "the BIRD in Calico's image has no BFD: remove it, or set a short hold time on the router, which both ends then use")
	}
	if p.LocalASN != 0 {
		c.add("unused-setting", key+".local_asn", "nodes with Calico have network.asn in all sessions: remove it")
	}
}

// checkRacks requires a rack and a router of each node.
func (c *checker) checkRacks(s BGPSpec) {
	const key = keyBGP + ".rack_label"
	if c.spec.Network.Plugin != PluginBGP {
		c.add("unused-racks", key, "nodes with Calico have sessions across racks: remove it, and set network.calico.encapsulation to vxlan-cross-subnet or ipip-cross-subnet when the routers between racks do not learn the routes")
		return
	}
	if len(c.spec.Network.Reflectors) > 0 {
		c.add("unused-reflectors", "cluster.network.reflectors", "nodes have sessions inside of their racks, where reflectors are chosen from mesh_below nodes on: remove them")
	}
	var unlabelled, alone []string
	for _, h := range c.hosts {
		if !h.isNode() {
			continue
		}
		if h.Labels[s.RackLabel] == "" {
			unlabelled = append(unlabelled, h.Name)
		}
		for _, family := range c.spec.families() {
			if !slices.ContainsFunc(s.Peers, func(p BGPPeerSpec) bool { return p.selects(h) && p.Hops <= 1 && FamilyOf(p.Address) == family }) {
				alone = append(alone, fmt.Sprintf("%s (%s)", h.Name, family))
			}
		}
	}
	if len(unlabelled) > 0 {
		c.add("no-rack", key, "nodes have no label %s: %s; set it at hosts or groups", s.RackLabel, strings.Join(unlabelled, ", "))
	}
	if len(alone) > 0 {
		c.add("no-router", keyBGP+".peers", "nodes have no router from which they could learn the routes to other racks: %s; add routers of their racks", strings.Join(alone, ", "))
	}
}

// checkAdvertised checks the ranges that are announced.
func (c *checker) checkAdvertised(s BGPSpec) {
	const key = keyBGP + ".advertise"
	ranges := s.Advertise.ranges(c.spec.ServiceCIDR)
	if len(ranges) > 0 && len(s.Peers) == 0 {
		c.add("unused-advertise", key, "there is no router to which it could be announced: add peers, or remove it")
	}
	var taken []netip.Prefix
	for _, text := range append(SplitList(c.spec.PodCIDR), SplitList(c.spec.ServiceCIDR)...) {
		if p, err := netip.ParsePrefix(text); err == nil {
			taken = append(taken, p)
		}
	}
	for _, list := range []struct {
		key    string
		ranges []string
	}{{key + ".external_ips", s.Advertise.ExternalIPs}, {key + ".load_balancer_ips", s.Advertise.LoadBalancerIPs}} {
		for _, text := range list.ranges {
			p, err := parseCIDR(text)
			if err != nil {
				c.add("bad-cidr", list.key, "%v", err)
				continue
			}
			for _, o := range taken {
				if o.Overlaps(p) {
					c.add("overlap", list.key, "%s overlaps %s, which is the range of pods, of Services or named before: choose a range of its own", p, o)
				}
			}
			taken = append(taken, p)
			if !slices.Contains(c.spec.families(), FamilyOf(text)) {
				c.add("mixed-families", list.key, "%s is of another family than pod_cidr %s", p, c.spec.PodCIDR)
			}
			c.checkHostsOutside(list.key, p)
		}
	}
}
