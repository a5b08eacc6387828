package calico

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/engine"
	"deployer/tasks/control/kube"
)

// beginLeave plans the blocks of nodes and the end of the controllers.
func beginLeave(ctx context.Context, client *kube.Client, nodes []corev1.Node) (engine.Change, error) {
	pools, err := readPools(ctx, client)
	if err != nil {
		return engine.Change{}, err
	}
	has, err := affinities(ctx, client)
	if err != nil {
		return engine.Change{}, err
	}
	plan, change := &leavePlan{}, engine.Change{}
	share, err := shareBlocks(nodes, has, pools)
	if err != nil {
		return engine.Change{}, err
	}
	plan.create, change.Effects = share.give()
	for _, block := range share.foreign {
		affinity := object("BlockAffinity", affinityName(has[block], blockName(block)), nil)
		plan.remove = append(plan.remove, affinity, object("IPAMBlock", blockName(block), nil))
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectObject, Target: "IPAMBlock " + block, Action: "take from node " + has[block], Reason: "it is in the range of another node"})
	}
	planned, err := kube.Plan(ctx, client, []*unstructured.Unstructured{frozenConfig()}, true)
	if err != nil {
		return engine.Change{}, err
	}
	if planned[0].Needed {
		plan.config = &planned[0]
		change.Effects = append(change.Effects, planned[0].Effect)
	}
	if plan.scale, err = controllersRun(ctx, client); err != nil {
		return engine.Change{}, err
	}
	if plan.scale {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectObject, Target: "Deployment " + v1.NamespaceSystem + "/" + controllers, Action: "end its pods"})
	}
	change.Needed, change.CheckState = len(change.Effects) > 0, plan
	change.Output = engine.Output{"blocks": share.outside}
	return change, nil
}

// controllers is the name of the Deployment of Calico's controllers.
const controllers = "calico-kube-controllers"

// controllersRun reports whether Calico's controllers are wanted. They would take blocks away from
// nodes that have no pods in them yet.
func controllersRun(ctx context.Context, client *kube.Client) (bool, error) {
	d, err := client.Get(ctx, kube.DeploymentKind(), v1.NamespaceSystem, controllers)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the Deployment %s: %w", controllers, err)
	}
	replicas, found, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
	return !found || replicas > 0, nil
}
