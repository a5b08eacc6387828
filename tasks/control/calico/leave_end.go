package calico

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/engine"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

// endLeave plans the removal of all objects of Calico, and of what it has written to nodes.
func endLeave(ctx context.Context, client *kube.Client, nodes []corev1.Node) (engine.Change, error) {
	plan, change := &leavePlan{nodes: map[string]map[string]any{}}, engine.Change{}
	for _, set := range []string{"calico-controllers", "calico"} { // of roles calico-controllers and calico-objects
		members, err := kube.Unlisted(ctx, client, set, nil)
		if err != nil {
			return engine.Change{}, err
		}
		for _, m := range members {
			plan.remove = append(plan.remove, m.Object)
		}
	}
	secret, err := client.Get(ctx, kube.SecretKind(), passwordNamespace, passwordSecret)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return engine.Change{}, fmt.Errorf("reading the Secret %s: %w", passwordSecret, err)
	case secret.GetLabels()[managedLabel] == kube.Manager && onlyOwnPasswords(secret):
		secret.SetGroupVersionKind(kube.SecretKind())
		plan.remove = append(plan.remove, secret)
	}
	definitions, err := client.List(ctx, definitionKind(), "", v1.ListOptions{})
	if err != nil {
		return engine.Change{}, fmt.Errorf("listing CustomResourceDefinitions: %w", err)
	}
	group := kindOf("").Group
	for _, d := range definitions {
		if of, _, _ := unstructured.NestedString(d.Object, "spec", "group"); of == group {
			d.SetGroupVersionKind(definitionKind())
			plan.remove = append(plan.remove, &d)
		}
	}
	for _, o := range plan.remove {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectObject, Target: kube.Describe(o), Action: "remove", Reason: "all nodes have the plugin bgp"})
	}
	for _, node := range nodes {
		if patch := leavingPatch(node.Annotations, node.Labels); patch != nil {
			plan.nodes[node.Name] = patch
			change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectObject, Target: "Node " + node.Name, Action: "remove the annotations and labels of Calico"})
		}
	}
	change.Needed, change.CheckState = len(change.Effects) > 0, plan
	return change, nil
}

func definitionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
}

// onlyOwnPasswords reports whether all passwords of a Secret are deployer's.
func onlyOwnPasswords(secret *unstructured.Unstructured) bool {
	data, _, err := unstructured.NestedMap(secret.Object, "data")
	for key := range data {
		if !strings.HasPrefix(key, passwordKeys) {
			return false
		}
	}
	return err == nil
}

// leavingPatch returns the JSON merge patch that removes what Calico and its sessions have written to a
// node, nil when there is nothing.
func leavingPatch(annotations, labels map[string]string) map[string]any {
	metadata := map[string]any{}
	remove := func(field string, have map[string]string, ours func(key string) bool) {
		patch := map[string]any{}
		for key := range have {
			if ours(key) {
				patch[key] = nil
			}
		}
		if len(patch) > 0 {
			metadata[field] = patch
		}
	}
	remove("annotations", annotations, func(key string) bool { return strings.HasPrefix(key, datastore.AnnotationPrefix) })
	remove("labels", labels, func(key string) bool {
		return key == reflectorLabel || key == canaryLabel || strings.HasPrefix(key, clientPrefix) || strings.HasPrefix(key, routerPrefix)
	})
	if len(metadata) == 0 {
		return nil
	}
	return map[string]any{"metadata": metadata}
}

// removeTimeout is the maximum time until a CustomResourceDefinition is gone: the API first removes its
// objects, of which a large cluster has thousands.
const removeTimeout = 5 * time.Minute

// removeAll deletes objects. It fails at a block in which an address has been given meanwhile, and waits
// until CustomResourceDefinitions are gone.
func removeAll(ctx context.Context, client *kube.Client, objects []*unstructured.Unstructured, progress func(string)) error {
	for i, o := range objects {
		progress(fmt.Sprintf("object %d of %d", i+1, len(objects)))
		if o.GetKind() == "IPAMBlock" {
			if err := requireEmpty(ctx, client, o.GetName()); err != nil {
				return err
			}
		}
		err := client.Delete(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName(), -1)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing %s: %w", kube.Describe(o), err)
		}
	}
	for _, o := range objects {
		if o.GetKind() != definitionKind().Kind {
			continue
		}
		err := poll.Until(ctx, removeTimeout, 200*time.Millisecond, func(ctx context.Context) (string, bool, error) {
			_, err := client.Get(ctx, definitionKind(), "", o.GetName())
			if apierrors.IsNotFound(err) {
				return "", true, nil
			}
			return "the API still has it", false, err
		})
		if err != nil {
			return fmt.Errorf("removing %s: %w", kube.Describe(o), err)
		}
	}
	return nil
}

// requireEmpty fails when a block has addresses in use.
func requireEmpty(ctx context.Context, client *kube.Client, name string) error {
	block, err := client.Get(ctx, kindOf("IPAMBlock"), "", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading IPAMBlock %s: %w", name, err)
	}
	allocations, _, _ := unstructured.NestedSlice(block.Object, "spec", "allocations")
	if slices.ContainsFunc(allocations, func(a any) bool { return a != nil }) {
		return fmt.Errorf("the block %s, which is in the range of another node, has addresses in use: repeat the command, which names them", name)
	}
	return nil
}
