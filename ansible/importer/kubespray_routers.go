package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// routers moves the BGP peers of Kubespray (roles/network_plugin/calico, peer_with_router and peers) to
// cluster.network.bgp. Peers of all nodes are converted; those of a group or host are noted, because
// here labels choose the nodes of a router.
func (c *converter) routers(encapsulation string) {
	peers, on := c.network["peers"], isTrue(text(c.network["peer_with_router"]))
	if strings.HasPrefix(encapsulation, "vxlan") {
		c.cluster.remove("network", "bgp")
		if on {
			v := c.network["peer_with_router"]
			c.note(v.at, describe("peer_with_router", v.v), "is left out: with encapsulation "+encapsulation+" there are no BGP sessions")
		}
		return
	}
	if !on {
		c.cluster.remove("network", "bgp") // announced to nobody
		return
	}
	var out []any
	list, _ := peers.v.([]any)
	for i, item := range list {
		p, _ := item.(map[string]any)
		address, asn := fmt.Sprint(p["router_id"]), number32(p["as"])
		if p["router_id"] == nil || asn == 0 || hasJinja(address) {
			c.note(peers.at, describe("peers", item), "has no router_id or no as that is a number: add the router to cluster.network.bgp.peers")
			continue
		}
		for _, key := range []string{"filters", "calico_num_allowed_local_as_numbers", "sourceaddress"} {
			if p[key] != nil {
				c.note(peers.at, describe("peers", map[string]any{key: p[key]}), "has no equivalent: nodes accept the routes of accept and accept_default_route")
			}
		}
		out = append(out, map[string]any{"name": routerName(p["name"], i), "address": address, "asn": asn})
	}
	for _, group := range slices.Sorted(maps.Keys(c.src.groupVars)) {
		if v, ok := c.src.groupVars[group]["peers"]; ok && group != "all" && !slices.Contains(wholeClusterGroups, group) {
			c.note(v.at, "peers of group "+group, "is left out: give the group a label, and add its routers to cluster.network.bgp.peers with nodes: {label: value}")
		}
	}
	if out == nil {
		return
	}
	c.cluster.setPath([]string{"network", "bgp", "peers"}, out)
	c.note(peers.at, "peers", "nodes accepted all routes of these routers, and accept those of accept and accept_default_route in cluster.network.bgp.peers here: add what your nodes need before the first install")
}

// routerName returns the name of a router: the one that Kubespray has for it, in small letters, with a
// dash in place of what names do not have here. Without such a name it has its number.
func routerName(given any, index int) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, text(value{scalar: scalar{v: given}})), "-")
	if name == "" || len(name) > 40 {
		return fmt.Sprintf("router-%d", index+1)
	}
	return name
}

// number32 returns the number of an autonomous system; 0 when it is none.
func number32(v any) uint32 {
	n, err := strconv.ParseUint(fmt.Sprint(v), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}
