package networkobjects

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/cluster/networkstatus"
	"deployer/tasks/control/kube"
)

func resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "crd.projectcalico.org", Version: "v1", Resource: name}
}

// pool is an IPPool.
type pool struct {
	Metadata struct{ Name string }
	Spec     struct {
		CIDR      string
		BlockSize int
		Disabled  bool
	}
}

// affinity is a BlockAffinity: a node takes addresses of a block, and announces it when the affinity is
// confirmed (libcalico-go lib/backend/model/block_affinity.go).
type affinity struct {
	Spec struct{ CIDR, Node, State, Deleted string }
}

// block is an IPAMBlock. Allocations has an element for each address; it is null for a free one.
type block struct {
	Spec struct {
		CIDR        string
		Affinity    string // host:NAME
		Allocations []*int
	}
}

// readCalico adds pools and blocks. EachOf may visit an object twice.
func readCalico(ctx context.Context, client *kube.Client, into *networkstatus.Objects) error {
	if err := kube.EachOf(ctx, client, resource("ippools"), func(p *pool) {
		one := networkstatus.Pool{Name: p.Metadata.Name, CIDR: p.Spec.CIDR, BlockSize: p.Spec.BlockSize, Disabled: p.Spec.Disabled}
		if !slices.ContainsFunc(into.Pools, func(o networkstatus.Pool) bool { return o.Name == one.Name }) {
			into.Pools = append(into.Pools, one)
		}
	}); err != nil {
		return err
	}
	blocks := map[string]networkstatus.Block{}
	if err := kube.EachOf(ctx, client, resource("ipamblocks"), func(b *block) {
		prefix, err := netip.ParsePrefix(b.Spec.CIDR)
		if err != nil {
			return
		}
		node, _ := strings.CutPrefix(b.Spec.Affinity, "host:")
		one := networkstatus.Block{CIDR: prefix.String(), Node: node}
		for _, a := range b.Spec.Allocations {
			if a != nil {
				one.Used++
			}
		}
		blocks[one.CIDR] = one
	}); err != nil {
		return err
	}
	if err := kube.EachOf(ctx, client, resource("blockaffinities"), func(a *affinity) {
		one, ok := blocks[a.Spec.CIDR]
		if ok && a.Spec.State == "confirmed" && a.Spec.Deleted != "true" {
			one.Node, one.Announced = a.Spec.Node, true
			blocks[a.Spec.CIDR] = one
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
