package calico

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/Masterminds/semver/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/control/kube"
)

// Affinities is the action `calico_affinities`: before nodes get Calico v3.30 or later, it gives the affinities of
// blocks that former versions have written the type and the labels of the new ones. calico-node v3.31 labels
// those of its node at its start, but with the type that they have: it would not find blocks without one, and
// take others. With older versions, and with the objects in etcd, there is nothing to do.
type Affinities struct{}

// typedAffinities is the first version whose affinities have a type (libcalico-go lib/apis/v3/blockaffinity.go).
var typedAffinities = semver.MustParse("v3.30.0")

// affinityPatch is the patch of an affinity.
type affinityPatch struct {
	name string
	text []byte
}

// Check looks for affinities without the labels.
func (*Affinities) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, client, err := open(ctx, actx, patientInRuns)
	if err != nil {
		return engine.Change{}, err
	}
	version, err := semver.NewVersion(c.Versions.Calico)
	if err != nil {
		return engine.Change{}, fmt.Errorf("versions.calico %q: %w", c.Versions.Calico, err)
	}
	if version.LessThan(typedAffinities) || c.EtcdCalico != nil {
		return engine.NoChange(nil), nil
	}
	found, err := client.List(ctx, kindOf("BlockAffinity"), "", v1.ListOptions{LabelSelector: affinityTypeLabel + "!=" + affinityOfNodes})
	isNew := actx.CheckOnly() && (kube.IsUnknownKind(err) || kube.IsTransient(err)) // the cluster
	if err != nil && !isNew {
		return engine.Change{}, fmt.Errorf("listing Calico's blocks: %w", err)
	}
	var patches []affinityPatch
	var blocks []string
	for _, o := range found {
		cidr, _, _ := unstructured.NestedString(o.Object, "spec", "cidr")
		node, _, _ := unstructured.NestedString(o.Object, "spec", "node")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "type")
		block, err := netip.ParsePrefix(cidr)
		if err != nil || kind != "" && kind != affinityOfNodes {
			continue // of a load balancer
		}
		text, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"labels": affinityLabels(node, block)},
			"spec":     map[string]any{"type": affinityOfNodes},
		})
		if err != nil {
			return engine.Change{}, err
		}
		patches, blocks = append(patches, affinityPatch{o.GetName(), text}), append(blocks, cidr+" of "+node)
	}
	if len(patches) == 0 {
		return engine.NoChange(nil), nil
	}
	change := engine.Changed(engine.Effect{Kind: engine.EffectObject, Target: "BlockAffinity " + shortlist.Names(blocks, maxNames), Action: "set type and labels"})
	change.CheckState = patches
	return change, nil
}

// Apply patches the affinities. One that its node has given up meanwhile is left out.
func (*Affinities) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	patches, ok := change.CheckState.([]affinityPatch)
	if !ok {
		return nil, errors.New("calico_affinities: Apply needs the change that Check returned")
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	for i, p := range patches {
		actx.Progress(fmt.Sprintf("block %d of %d", i+1, len(patches)))
		if _, err := client.Patch(ctx, kindOf("BlockAffinity"), "", p.name, p.text, kube.Manager); err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("setting type and labels of BlockAffinity %s: %w", p.name, err)
		}
	}
	return nil, nil
}
