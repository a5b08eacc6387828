package cluster

import "slices"

// birdSockets returns the paths of BIRD's control sockets on nodes: one of deployer's BIRD 2, and one
// for each family of Calico's BIRD 1, in the order of families; empty where BIRD makes no routes.
func birdSockets(n NetworkSpec, families []string) []string {
	out := []string{}
	switch {
	case n.Plugin == PluginBGP:
		out = append(out, "/run/bird/bird.ctl")
	case n.routesByBGP():
		for _, family := range families {
			out = append(out, map[string]string{FamilyIPv4: "/var/run/calico/bird.ctl", FamilyIPv6: "/var/run/calico/bird6.ctl"}[family])
		}
	}
	return out
}

// BIRDSocket returns the control socket of the BIRD that makes the routes of a family; empty where BIRD
// makes none.
func (c *Cluster) BIRDSocket(family string) string {
	sockets := c.Network.BIRDSockets
	if len(sockets) == 0 {
		return ""
	}
	return sockets[min(max(slices.Index(c.Families, family), 0), len(sockets)-1)]
}
