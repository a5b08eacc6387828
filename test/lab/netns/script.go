// Package netns builds a lab's network from network namespaces: one for the lab,
// with a bridge that carries the controller's address, and one for each host,
// joined to the bridge by a veth pair. Nothing of it is visible in the machine's
// own namespace, and no route leads out.
package netns

import (
	"fmt"
	"strings"

	"deployer/test/lab/plan"
)

// labScript is the input of `ip -batch -` that, in a fresh namespace, makes the
// bridge. The bridge gets a fixed hardware address; a bridge otherwise takes the
// lowest of its ports', which changes whenever a host goes, and the hosts' ARP
// entries for the controller go stale.
func labScript() string {
	c := plan.Controller()
	return lines(
		"link set lo up",
		fmt.Sprintf("link add %s address %s type bridge", plan.Bridge, plan.MAC(c)),
		fmt.Sprintf("address add %s/%d dev %s", c, plan.Subnet().Bits(), plan.Bridge),
		fmt.Sprintf("link set %s up", plan.Bridge),
	)
}

// portScript runs in the lab's namespace and joins the host's namespace, which
// must exist, to the bridge.
func portScript(h plan.Host, hostNamespace string) string {
	return lines(
		fmt.Sprintf("link add %s type veth peer name eth0 address %s netns %s", h.Name, plan.MAC(h.Address), hostNamespace),
		fmt.Sprintf("link set %s master %s up", h.Name, plan.Bridge),
	)
}

// hostScript runs in the host's namespace. The default route is for programs
// that insist on one; it ends at the controller.
func hostScript(h plan.Host) string {
	return lines(
		"link set lo up",
		fmt.Sprintf("address add %s/%d dev eth0", h.Address, plan.Subnet().Bits()),
		"link set eth0 up",
		fmt.Sprintf("route add default via %s", plan.Controller()),
	)
}

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }
