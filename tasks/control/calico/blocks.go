package calico

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/kube"
)

// Blocks is the action `calico_blocks`: it gives each node the blocks of Calico in the range of pod
// addresses that it has with the plugin bgp, so that pods have addresses of the same range before and
// after a change of the plugin, and no node takes a block of another one.
//
// With `end` it looks for nodes that do not run Calico yet; when there are none, nodes may take
// further blocks. The output has `left`, the names of these nodes, and `blocks`, those of each node of the
// run that runs Calico.
type Blocks struct {
	End bool `yaml:"end" doc:"End the change: nodes may take further blocks when all run Calico. Default false: give the nodes their blocks."`
}

// maxNames is the maximum number of names in a message.
const maxNames = 10

// blocksPlan is the result of Check.
type blocksPlan struct {
	create []*unstructured.Unstructured
	config *kube.Planned // nil: as wanted
	remove bool          // remove the IPAMConfig
}

// Check compares the blocks with the ranges. In a dry run of a cluster without Calico it names the
// blocks of all nodes.
func (b *Blocks) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, client, err := open(ctx, actx, patientInRuns)
	if err != nil {
		return engine.Change{}, err
	}
	nodes, err := kube.ListAs[corev1.Node](ctx, client, kube.NodeKind(), "", v1.ListOptions{})
	if err != nil {
		return engine.Change{}, fmt.Errorf("listing nodes: %w", err)
	}
	if b.End {
		return b.end(ctx, actx, client, nodes)
	}
	pools, err := poolsOf(c)
	if err != nil {
		return engine.Change{}, err
	}
	return b.begin(ctx, actx, client, nodes, pools)
}

func (b *Blocks) begin(ctx context.Context, actx engine.ActionContext, client *kube.Client, nodes []corev1.Node, pools []pool) (engine.Change, error) {
	has, err := affinities(ctx, client)
	if err != nil && !(actx.CheckOnly() && kube.IsUnknownKind(err)) {
		return engine.Change{}, err
	}
	served := err == nil
	share, err := shareBlocks(nodes, has, pools)
	if err != nil {
		return engine.Change{}, err
	}
	if len(share.foreign) > 0 {
		block := share.foreign[0]
		return engine.Change{}, fmt.Errorf("node %s has the block %s, which is in the range of another node: end its pods with addresses of this block, then delete the BlockAffinity", has[block], block)
	}
	plan, change := &blocksPlan{}, engine.Change{}
	plan.create, change.Effects = share.give()
	if served {
		planned, err := kube.Plan(ctx, client, []*unstructured.Unstructured{frozenConfig()}, true)
		if err != nil {
			return engine.Change{}, err
		}
		if planned[0].Needed {
			plan.config = &planned[0]
			change.Effects = append(change.Effects, planned[0].Effect)
		}
	}
	change.Needed, change.CheckState = len(change.Effects) > 0, plan
	return change, nil
}

func (b *Blocks) end(ctx context.Context, actx engine.ActionContext, client *kube.Client, nodes []corev1.Node) (engine.Change, error) {
	left := []string{}
	for _, node := range nodes {
		if node.Annotations[datastore.Address] == "" && node.Annotations[datastore.AddressIPv6] == "" {
			left = append(left, node.Name)
		}
	}
	slices.Sort(left)
	out := engine.Output{"left": texts(left), "blocks": map[string]any{}}
	if actx.CheckOnly() {
		return engine.NoChange(out), nil
	}
	owners, err := affinities(ctx, client)
	if err != nil {
		return engine.Change{}, err
	}
	out["blocks"] = byNode(owners, func(node string) bool {
		return slices.Contains(actx.Targets(), node) && !slices.Contains(left, node)
	})
	if len(left) > 0 {
		actx.Warn(fmt.Sprintf("%s still without Calico: repeat deployer network change-plugin when they are up; until then the other nodes keep routes to their pods, and no node takes further blocks", shortlist.Names(left, maxNames)))
		return engine.NoChange(out), nil
	}
	config, err := client.Get(ctx, kindOf("IPAMConfig"), "", "default")
	switch {
	case apierrors.IsNotFound(err):
		return engine.NoChange(out), nil
	case err != nil:
		return engine.Change{}, fmt.Errorf("reading the IPAMConfig: %w", err)
	case config.GetLabels()[managedLabel] != kube.Manager:
		return engine.NoChange(out), nil
	}
	change := engine.Changed(engine.Effect{Kind: engine.EffectObject, Target: "IPAMConfig default", Action: "remove", Reason: "all nodes run Calico"})
	change.CheckState, change.Output = &blocksPlan{remove: true}, out
	return change, nil
}

// Apply creates the blocks, or removes the limit of blocks.
func (b *Blocks) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	plan, ok := change.CheckState.(*blocksPlan)
	if !ok {
		return nil, errors.New("calico_blocks: Apply needs the change that Check returned")
	}
	if plan.remove {
		if err := client.Delete(ctx, kindOf("IPAMConfig"), "", "default", -1); err != nil {
			return nil, fmt.Errorf("removing the IPAMConfig: %w", err)
		}
		return change.Output, nil
	}
	// Before any block, so that no node takes one of another.
	if plan.config != nil {
		if err := kube.Execute(ctx, client, []kube.Planned{*plan.config}, true, actx.Progress); err != nil {
			return nil, err
		}
	}
	for i, o := range plan.create {
		actx.Progress(fmt.Sprintf("object %d of %d", i+1, len(plan.create)))
		if err := client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("creating %s: %w", kube.Describe(o), err)
		}
	}
	return change.Output, nil
}

// affinities returns the node of each block by its range.
func affinities(ctx context.Context, client *kube.Client) (map[string]string, error) {
	found, err := client.List(ctx, kindOf("BlockAffinity"), "", v1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Calico's blocks: %w", err)
	}
	out := map[string]string{}
	for _, o := range found {
		node, _, _ := unstructured.NestedString(o.Object, "spec", "node")
		cidr, _, _ := unstructured.NestedString(o.Object, "spec", "cidr")
		out[cidr] = node
	}
	return out, nil
}

// byNode returns the sorted blocks of each node that announces some.
func byNode(owners map[string]string, announces func(node string) bool) map[string]any {
	out := map[string]any{}
	for _, cidr := range slices.Sorted(maps.Keys(owners)) {
		if !announces(owners[cidr]) {
			continue
		}
		blocks, _ := out[owners[cidr]].([]any)
		out[owners[cidr]] = append(blocks, cidr)
	}
	return out
}

// blockObjects returns an empty block and its affinity to a node, as Calico's address management
// writes them (libcalico-go lib/backend/k8s/resources/ipam_affinity.go and ipam_block.go). The block
// comes first: Calico removes an affinity without its block. The type of an affinity is a field since v3.30;
// kinds of older versions drop it.
func blockObjects(node string, block netip.Prefix) []*unstructured.Unstructured {
	name := blockName(block.String())
	size := 1 << (block.Addr().BitLen() - block.Bits())
	free, allocations := make([]any, size), make([]any, size)
	for i := range free {
		free[i] = int64(i)
	}
	ipam := object("IPAMBlock", name, map[string]any{
		"cidr": block.String(), "affinity": affinityOfNodes + ":" + node, "allocations": allocations, "unallocated": free,
		"attributes": []any{}, "deleted": false, "strictAffinity": false,
	})
	affinity := object("BlockAffinity", affinityName(node, name), map[string]any{
		"state": "confirmed", "node": node, "type": affinityOfNodes, "cidr": block.String(), "deleted": "false",
	})
	ipam.SetLabels(nil) // Calico owns both from now on
	affinity.SetLabels(affinityLabels(node, block))
	return []*unstructured.Unstructured{ipam, affinity}
}

// blockName returns the name of the object of a block.
func blockName(block string) string {
	return strings.NewReplacer(".", "-", ":", "-", "/", "-").Replace(block)
}

// maxObjectName is the maximum length of an object's name in bytes (RFC 1123, a subdomain).
const maxObjectName = 253

// affinityName returns the name of the affinity of a node to a block, by which Calico finds it. A name
// that is too long is cut, and a hash keeps it apart from others (ipam_affinity.go, parseKey).
func affinityName(node, block string) string {
	name := node + "-" + block
	if len(name) < maxObjectName {
		return name
	}
	const hashed = 11 // hexadecimal digits; two hyphens separate the three parts
	hash := sha256.Sum256([]byte(node + "+" + block))
	return node[:maxObjectName-1-len(block)-hashed-2] + "-" + block + "-" + hex.EncodeToString(hash[:])[:hashed]
}
