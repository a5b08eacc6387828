package calico

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/kube"
)

// pool is an IPPool.
type pool struct {
	cidr      netip.Prefix
	blockSize int // prefix length of its blocks
}

// readPools reads Calico's pools.
func readPools(ctx context.Context, client *kube.Client) ([]pool, error) {
	found, err := client.List(ctx, kindOf("IPPool"), "", v1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Calico's pools: %w", err)
	}
	var out []pool
	for _, o := range found {
		text, _, _ := unstructured.NestedString(o.Object, "spec", "cidr")
		cidr, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("IPPool %s: %w", o.GetName(), err)
		}
		size, found, _ := unstructured.NestedInt64(o.Object, "spec", "blockSize")
		if !found {
			size = map[bool]int64{true: 26, false: 122}[cidr.Addr().Is4()] // Calico's defaults
		}
		out = append(out, pool{cidr, int(size)})
	}
	return out, nil
}

// poolsOf returns the pools of the inventory.
func poolsOf(c *cluster.Cluster) ([]pool, error) {
	var out []pool
	for _, p := range c.Network.Calico.Pools {
		cidr, err := netip.ParsePrefix(p.CIDR)
		if err != nil {
			return nil, fmt.Errorf("pool %s: %w", p.Name, err)
		}
		out = append(out, pool{cidr, p.BlockSize})
	}
	return out, nil
}

// nodeBlocks are blocks of a node.
type nodeBlocks struct {
	name   string
	blocks []netip.Prefix
}

// sharedBlocks is how blocks are shared while some nodes have no Calico.
type sharedBlocks struct {
	missing []nodeBlocks   // blocks that nodes get in their own ranges
	foreign []string       // blocks of nodes in the ranges of others
	outside map[string]any // blocks of each node outside of all ranges
}

// shareBlocks compares the blocks that nodes have with their ranges.
func shareBlocks(nodes []corev1.Node, has map[string]string, pools []pool) (sharedBlocks, error) {
	out := sharedBlocks{outside: map[string]any{}}
	ranges := map[string][]netip.Prefix{}
	for _, node := range nodes {
		lacks := nodeBlocks{name: node.Name}
		if kube.PodRangesOf(&node) == "" {
			return out, fmt.Errorf("node %s has no range of pod addresses (spec.podCIDR)", node.Name)
		}
		for _, text := range cluster.SplitList(kube.PodRangesOf(&node)) {
			r, err := netip.ParsePrefix(text)
			if err != nil {
				return out, fmt.Errorf("node %s has the range %q: %w", node.Name, text, err)
			}
			ranges[node.Name] = append(ranges[node.Name], r)
			i := slices.IndexFunc(pools, func(p pool) bool { return p.cidr.Bits() <= r.Bits() && p.cidr.Contains(r.Addr()) })
			if i < 0 || pools[i].blockSize < r.Bits() {
				continue // Calico has no blocks in this range
			}
			blocks, err := cluster.CalicoBlocks(text, pools[i].blockSize)
			if err != nil {
				return out, fmt.Errorf("node %s: %w", node.Name, err)
			}
			for _, block := range blocks {
				if has[block.String()] != node.Name {
					lacks.blocks = append(lacks.blocks, block)
				}
			}
		}
		if len(lacks.blocks) > 0 {
			out.missing = append(out.missing, lacks)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(has)) {
		block, err := netip.ParsePrefix(text)
		if err != nil {
			return out, fmt.Errorf("node %s has the block %q: %w", has[text], text, err)
		}
		switch owner := rangeOwner(ranges, block); owner {
		case has[text]:
		case "":
			list, _ := out.outside[has[text]].([]any)
			out.outside[has[text]] = append(list, text)
		default:
			out.foreign = append(out.foreign, text)
		}
	}
	return out, nil
}

// rangeOwner returns the node in whose range a block is; empty when it is in none.
func rangeOwner(ranges map[string][]netip.Prefix, block netip.Prefix) string {
	for _, name := range slices.Sorted(maps.Keys(ranges)) {
		if slices.ContainsFunc(ranges[name], func(r netip.Prefix) bool { return r.Overlaps(block) }) {
			return name
		}
	}
	return ""
}

// give returns the objects of the blocks that nodes get, and their effects.
func (s sharedBlocks) give() (objects []*unstructured.Unstructured, effects []engine.Effect) {
	for _, node := range s.missing {
		names := make([]string, 0, len(node.blocks))
		for _, block := range node.blocks {
			names = append(names, block.String())
			objects = append(objects, blockObjects(node.name, block)...)
		}
		effects = append(effects, engine.Effect{Kind: engine.EffectObject, Target: "IPAMBlock " + strings.Join(names, ", "), Action: "give to node " + node.name})
	}
	return objects, effects
}

// frozenConfig keeps nodes to the blocks that they have.
func frozenConfig() *unstructured.Unstructured {
	return object("IPAMConfig", "default", map[string]any{"strictAffinity": true, "autoAllocateBlocks": false, "maxBlocksPerHost": int64(0)})
}
