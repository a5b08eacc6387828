// Package netns builds a lab's network from network namespaces: one for the lab,
// with a bridge that carries the controller's address, and one for each host,
// connected to the bridge by a veth pair. The network is not visible in the
// machine's own namespace, and no route leads out.
package netns

import (
	"fmt"
	"strings"

	"deployer/test/lab/plan"
)

// labScript returns the input of `ip -batch -` that creates the bridge in a new
// namespace. The bridge has a fixed hardware address. By default a bridge uses the lowest
// address of its ports, which changes when a host is removed, and makes the hosts' ARP
// entries for the controller stale.
func labScript() string {
	c := plan.Controller()
	return lines(
		"link set lo up",
		fmt.Sprintf("link add %s address %s type bridge", plan.Bridge, plan.MAC(c)),
		fmt.Sprintf("address add %s/%d dev %s", c, plan.Subnet().Bits(), plan.Bridge),
		fmt.Sprintf("address add %s/%d dev %s nodad", plan.ControllerIPv6(), plan.SubnetIPv6().Bits(), plan.Bridge),
		fmt.Sprintf("link set %s up", plan.Bridge),
	)
}

// portScript returns the commands that connect the host's namespace, which must exist,
// to the bridge. They run in the lab's namespace.
func portScript(h plan.Host, hostNamespace string) string {
	return lines(
		fmt.Sprintf("link add %s type veth peer name eth0 address %s netns %s", h.Name, plan.MAC(h.Address), hostNamespace),
		fmt.Sprintf("link set %s master %s up", h.Name, plan.Bridge),
	)
}

// hostScript returns the commands for the host's namespace. The default routes end at
// the controller; they exist for programs that require one. No other host has its addresses, so
// none waits for the detection of duplicates.
func hostScript(h plan.Host) string {
	return lines(
		"link set lo up",
		fmt.Sprintf("address add %s/%d dev eth0", h.Address, plan.Subnet().Bits()),
		fmt.Sprintf("address add %s/%d dev eth0 nodad", h.IPv6(), plan.SubnetIPv6().Bits()),
		"link set eth0 up",
		fmt.Sprintf("route add default via %s", plan.Controller()),
		fmt.Sprintf("route add default via %s", plan.ControllerIPv6()),
	)
}

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }
