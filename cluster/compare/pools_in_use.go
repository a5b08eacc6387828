package compare

import (
	"fmt"
	"slices"

	"deployer/cluster"
)

// PoolInUse is an IPPool of Calico as the API has it.
type PoolInUse struct {
	Name      string
	CIDR      string
	BlockSize int
	IPIPMode  string // Never, Always or CrossSubnet; empty is Never
	VXLANMode string // as IPIPMode
}

// poolChanges returns the pools that the inventory would change in what pods and blocks depend on:
// addresses of a former range would be routed by nobody, blocks of two sizes overlap, and nodes of
// two encapsulations do not reach each other.
func poolChanges(want *cluster.Cluster, found InUse) []Conflict {
	var out []Conflict
	for _, pool := range want.Network.Calico.Pools {
		i := slices.IndexFunc(found.Pools, func(p PoolInUse) bool { return p.Name == pool.Name })
		if i < 0 {
			continue
		}
		had := found.Pools[i]
		for _, c := range []struct{ setting, want, had string }{
			{"range", pool.CIDR, had.CIDR},
			{"block_size", fmt.Sprint(pool.BlockSize), fmt.Sprint(had.BlockSize)},
			{"encapsulation with IPIP", pool.IPIPMode, mode(had.IPIPMode)},
			{"encapsulation with VXLAN", pool.VXLANMode, mode(had.VXLANMode)},
		} {
			if c.want != c.had {
				out = append(out, Conflict{
					Subject: "network.calico",
					Detail:  fmt.Sprintf("the pool %s has the %s %s, and the inventory says %s: pods that run would lose their routes", pool.Name, c.setting, c.had, c.want),
					Fix:     "restore the setting; for another one add a pool to network.calico.pools, and disable the former one",
				})
			}
		}
	}
	return out
}

// mode returns a mode of a pool, whose default is Never.
func mode(m string) string {
	if m == "" {
		return "Never"
	}
	return m
}
