package networkobjects

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"deployer/cluster/networkstatus"
	"deployer/tasks/control/calico/datastore"
)

// readCalico adds pools and blocks.
func readCalico(ctx context.Context, store datastore.Store, into *networkstatus.Objects) error {
	if err := store.Pools(ctx, func(p datastore.Pool) {
		one := networkstatus.Pool{Name: p.Name, CIDR: p.CIDR, BlockSize: p.BlockSize, Disabled: p.Disabled}
		if !slices.ContainsFunc(into.Pools, func(o networkstatus.Pool) bool { return o.Name == one.Name }) {
			into.Pools = append(into.Pools, one)
		}
	}); err != nil {
		return err
	}
	blocks := map[string]networkstatus.Block{}
	if err := store.Blocks(ctx, func(b datastore.Block) {
		prefix, err := netip.ParsePrefix(b.CIDR)
		if err != nil {
			return
		}
		node, _ := strings.CutPrefix(b.Affinity, "host:")
		one := networkstatus.Block{CIDR: prefix.String(), Node: node}
		for _, a := range b.Allocations {
			if a != nil {
				one.Used++
			}
		}
		blocks[one.CIDR] = one
	}); err != nil {
		return err
	}
	if err := store.Affinities(ctx, func(a datastore.Affinity) {
		one, ok := blocks[a.CIDR]
		if ok && a.State == "confirmed" && !a.Deleted {
			one.Node, one.Announced = a.Node, true
			blocks[a.CIDR] = one
		}
	}); err != nil {
		return err
	}
	for _, b := range blocks {
		into.Blocks = append(into.Blocks, b)
	}
	slices.SortFunc(into.Blocks, func(a, b networkstatus.Block) int {
		return netip.MustParsePrefix(a.CIDR).Compare(netip.MustParsePrefix(b.CIDR))
	})
	return nil
}
