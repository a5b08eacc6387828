package compare

import (
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
)

// virtualAddress returns the conflict of a changed virtual address with the one that clients use:
// they would reach nobody until each has the new one. A cluster that loses its virtual address, with
// nothing in its place, is no mistake in a digit.
func virtualAddress(want *cluster.Cluster, found InUse) []Conflict {
	v := want.API.VirtualIP
	if v.Address == "" {
		return nil
	}
	wanted := append([]string{v.Address}, v.Former...)
	var has []string
	for _, name := range want.Order {
		for _, address := range found.Hosts[name].VirtualIPs {
			if slices.Contains(wanted, address) {
				return nil
			}
			if !slices.Contains(has, address) {
				has = append(has, address)
			}
		}
	}
	if len(has) == 0 {
		return nil
	}
	return []Conflict{{
		Subject: "api.virtual_ip",
		Detail:  fmt.Sprintf("api.virtual_ip.address is %s, and the cluster has %s: clients that use it would reach no API server", v.Address, strings.Join(has, ", ")),
		Fix:     fmt.Sprintf("write former: [%s] beside it, which keeps that address until you take it out: when all clients use the new one", strings.Join(has, ", ")),
	}}
}
