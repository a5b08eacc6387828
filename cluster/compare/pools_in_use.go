package compare

import (
	"fmt"
	"net/netip"
	"slices"

	"deployer/cluster"
	"deployer/shortlist"
)

// PoolInUse is an IPPool of Calico as the API has it.
type PoolInUse struct {
	Name      string
	CIDR      string
	BlockSize int
	IPIPMode  string // Never, Always or CrossSubnet; empty is Never
	VXLANMode string // as IPIPMode
}

// PoolsAreNew reports whether the inventory has a pool that the cluster does not have by this name. Blocks of
// a former pool may be in its range.
func PoolsAreNew(want *cluster.Cluster, found InUse) bool {
	return slices.ContainsFunc(want.Network.Calico.Pools, func(p cluster.ResolvedPool) bool { return found.pool(p.Name) == nil })
}

// pool returns a pool of the cluster by its name; nil when there is none.
func (f InUse) pool(name string) *PoolInUse {
	i := slices.IndexFunc(f.Pools, func(p PoolInUse) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Pools[i]
}

// poolChanges returns the conflicts of the inventory's pools with those of the cluster. A pool keeps what
// pods and blocks depend on, and shares no address with another one.
func poolChanges(want *cluster.Cluster, found InUse) []Conflict {
	var out []Conflict
	for _, pool := range want.Network.Calico.Pools {
		if had := found.pool(pool.Name); had != nil {
			out = append(out, changedPool(pool, *had)...)
		} else {
			out = append(out, blocksOfOtherSize(pool, found)...)
		}
		out = append(out, overlappingPools(pool, want, found)...)
	}
	return out
}

// changedPool returns the settings of a pool that the inventory would change: addresses of a former range
// would be routed by nobody, blocks of two sizes overlap, and nodes of two encapsulations do not reach each
// other.
func changedPool(pool cluster.ResolvedPool, had PoolInUse) []Conflict {
	var out []Conflict
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
	return out
}

// overlappingPools returns the conflicts of a pool with the cluster's pools of other names, in use or not:
// both would give out the same addresses, and Felix, which knows pools by their ranges, takes two of one
// range for one. Calico's own client refuses such a pool, too (libcalico-go lib/clientv3/ippool.go). Pools
// that the inventory has, too, are compared by their names, and validation keeps them apart.
func overlappingPools(pool cluster.ResolvedPool, want *cluster.Cluster, found InUse) []Conflict {
	var out []Conflict
	for _, other := range found.Pools {
		named := slices.ContainsFunc(want.Network.Calico.Pools, func(p cluster.ResolvedPool) bool { return p.Name == other.Name })
		if named || !overlap(pool.CIDR, other.CIDR) {
			continue
		}
		out = append(out, Conflict{
			Subject: "network.calico",
			Detail: fmt.Sprintf("the pool %s of the inventory has the range %s, and the cluster has a pool %s with %s: both would give out the same addresses, in blocks of /%d and /%d",
				pool.Name, pool.CIDR, other.Name, other.CIDR, pool.BlockSize, other.BlockSize),
			Fix: fmt.Sprintf("keep the name %s, or choose a range that no pool has; a pool that is to go is disabled first, and when no pod has an address of it any more, deleted with calicoctl delete ippool %[1]s", other.Name),
		})
	}
	return out
}

// blocksOfOtherSize returns the conflict of a new pool with blocks in its range that a former pool has left:
// Calico looks for blocks of the new size only, and would give out the addresses in them again.
func blocksOfOtherSize(pool cluster.ResolvedPool, found InUse) []Conflict {
	var left []string
	for _, b := range found.Blocks {
		block, err := netip.ParsePrefix(b.CIDR)
		if err != nil || block.Bits() == pool.BlockSize || !overlap(pool.CIDR, b.CIDR) {
			continue
		}
		if slices.ContainsFunc(found.Pools, func(p PoolInUse) bool { return overlap(p.CIDR, b.CIDR) }) {
			continue // a conflict of the pool
		}
		left = append(left, fmt.Sprintf("%s (%d in use)", b.CIDR, b.Used))
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	left = slices.Compact(left) // a block may have been read twice
	return []Conflict{{
		Subject: "network.calico",
		Detail:  fmt.Sprintf("the pool %s has blocks of /%d, and a former pool has left others in its range %s: %s; their addresses would be given out again", pool.Name, pool.BlockSize, pool.CIDR, shortlist.Names(left, maxNames)),
		Fix:     "set block_size to that of the blocks, or choose another range; to remove the blocks, create the former pool again with disabled: true, start its pods again, and delete it with calicoctl delete ippool",
	}}
}

// overlap reports whether two ranges have addresses in common.
func overlap(a, b string) bool {
	one, err := netip.ParsePrefix(a)
	if err != nil {
		return false
	}
	other, err := netip.ParsePrefix(b)
	return err == nil && one.Overlaps(other)
}

// mode returns a mode of a pool, whose default is Never.
func mode(m string) string {
	if m == "" {
		return "Never"
	}
	return m
}
