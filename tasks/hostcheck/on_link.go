package hostcheck

import (
	"fmt"
	"net/netip"
	"slices"

	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/checkresult"
	"deployer/tasks/iproutes"
)

// shownAddresses bounds the addresses in a row.
const shownAddresses = 5

// onLink requires that the host reaches the addresses without a router.
func (r Requirement) onLink(sys engine.System) checkresult.Row {
	table, err := iproutes.Read(sys)
	if err != nil {
		return checkresult.Problem("", "%v", err)
	}
	own := localAddresses(sys) // the main table has no routes to them
	var behind []string
	for _, text := range r.Addresses {
		address, err := netip.ParseAddr(text)
		if err != nil || len(table) == 0 || address.IsLoopback() || slices.Contains(own, address) {
			continue
		}
		switch route, ok := iproutes.RouteTo(table, address); {
		case !ok:
			behind = append(behind, text+" (no route)")
		case !route.Gateway.IsUnspecified():
			behind = append(behind, fmt.Sprintf("%s (by %s)", text, route.Gateway))
		}
	}
	if len(behind) == 0 {
		return checkresult.OK("the nodes and routers with which this node has BGP sessions are in its networks")
	}
	return checkresult.Problem("for racks with networks of their own set network.bgp.rack_label and the routers of each rack in network.bgp.peers; without the help of routers use network.plugin: calico with encapsulation vxlan-cross-subnet; a router further away needs hops",
		"routers are between the host and %s, so packets for pods would not arrive", shortlist.Names(behind, shownAddresses))
}
