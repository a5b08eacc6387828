package routes

import (
	"fmt"
	"regexp"
	"slices"

	"deployer/cluster"
	"deployer/cluster/networkstatus"
	"deployer/shortlist"
)

// mtuIfacePattern is the default of Felix's setting of this name: calico-node takes the MTU of pods from the
// interfaces of its node whose names match it (felix/config/config_params.go, v3.28 to v3.31).
const mtuIfacePattern = `^((en|wl|ww|sl|ib)[Pcopsvx].*|(eth|wlan|wwan).*)`

// maxNames is the maximum number of names in a message.
const maxNames = 10

// calicoMTU returns a warning when calico-node gives pods of a node an MTU that is too high for a way between
// nodes; it is empty when there is no such node. On a node where it has not chosen one yet, it will choose that of
// the interface between nodes only when it looks at its name: another interface may have a higher one.
func calicoMTU(c *cluster.Cluster, nodes []cluster.NodeMTU) string {
	uplinks := slices.Clone(nodes)
	for i := range uplinks {
		uplinks[i].Present = 0 // no limit for other nodes
	}
	narrow, _ := cluster.ChoosePodMTU(uplinks)
	text, ok := c.Network.Calico.Felix["mtuIfacePattern"].(string)
	if !ok {
		text = mtuIfacePattern
	}
	pattern, err := regexp.Compile(text)
	if err != nil || narrow.MTU == 0 {
		return ""
	}
	allowed := narrow.MTU - networkstatus.Overhead(c)
	fits := func(n cluster.NodeMTU) bool {
		if n.Present > 0 {
			return n.Present <= allowed
		}
		return slices.ContainsFunc(n.Uplinks, func(u cluster.UplinkMTU) bool { return u.MTU <= narrow.MTU && pattern.MatchString(u.Name) })
	}
	var others []string
	for _, n := range nodes {
		if !n.Unknown && !fits(n) {
			others = append(others, n.Name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s has the MTU %d, and calico-node finds a higher one for pods on %s, or may do so, so that large packets to other nodes are lost: set cluster.network.mtu: %d",
		narrow.Interface, narrow.Node, narrow.MTU, shortlist.Names(others, maxNames), allowed)
}
