package drain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/control/kube"
)

// NodeState is the state of a node before a drain.
type NodeState struct {
	Node   string
	Cordon Cordon
	Pods   []corev1.Pod // pods to evict, sorted by name
	// BlockedBy maps namespace/name of a pod to the disruption budget that blocks
	// its eviction now.
	BlockedBy map[string]string
	// NeverEvictable maps namespace/name of a pod to the disruption budget that cannot be
	// met, however long a drain waits.
	NeverEvictable map[string]string
}

// Drained reports whether the node is cordoned and has no pods to evict.
func (s *NodeState) Drained() bool {
	return (s.Cordon == Ours || s.Cordon == Foreign) && len(s.Pods) == 0
}

// ReadNode reads a node and its pods. Pods that may not be evicted by the options
// are an error that names them.
func ReadNode(ctx context.Context, c *kube.Client, name string, o Options) (*NodeState, error) {
	node, err := kube.GetNode(ctx, c, name)
	if err != nil {
		return nil, err
	}
	s := &NodeState{Node: name, Cordon: CordonOf(node), BlockedBy: map[string]string{}, NeverEvictable: map[string]string{}}
	if s.Pods, err = podsToEvict(ctx, c, name, o); err != nil || len(s.Pods) == 0 {
		return s, err
	}
	budgets, err := readBudgets(ctx, c)
	if err != nil {
		return nil, err
	}
	for i := range s.Pods {
		if why := blockingBudget(&s.Pods[i], budgets); why != "" && !o.DisableEviction {
			s.BlockedBy[nameOf(&s.Pods[i])] = why
		}
		if why := impossibleBudget(&s.Pods[i], budgets); why != "" && !o.DisableEviction {
			s.NeverEvictable[nameOf(&s.Pods[i])] = why
		}
	}
	return s, nil
}

func podsOn(ctx context.Context, c *kube.Client, node, selector string) ([]corev1.Pod, error) {
	pods, err := kube.ListAs[corev1.Pod](ctx, c, kube.PodKind(), "", v1.ListOptions{
		LabelSelector: selector, FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of node %s: %w", node, err)
	}
	slices.SortFunc(pods, byName)
	return pods, nil
}

// podsToEvict returns the pods of a node that a drain evicts.
func podsToEvict(ctx context.Context, c *kube.Client, node string, o Options) ([]corev1.Pod, error) {
	pods, err := podsOn(ctx, c, node, o.PodSelector)
	if err != nil {
		return nil, err
	}
	sets, err := daemonSets(ctx, c)
	if err != nil {
		return nil, err
	}
	owned := func(pod *corev1.Pod, name string) bool { return sets[pod.Namespace+"/"+name] }
	var out []corev1.Pod
	var lines []string
	for i := range pods {
		switch f, why := o.decide(&pods[i], time.Now(), owned); f {
		case evict:
			out = append(out, pods[i])
		case refuse:
			lines = append(lines, fmt.Sprintf("%s: %s", nameOf(&pods[i]), why))
		}
	}
	if len(lines) > 0 {
		return nil, &engine.Failure{
			Message: fmt.Sprintf("node %s cannot be drained: %s", node, shortlist.Texts(lines, 3)),
			Detail:  strings.Join(lines, "\n"),
		}
	}
	return out, nil
}

func daemonSets(ctx context.Context, c *kube.Client) (map[string]bool, error) {
	sets, err := kube.ListAs[appsv1.DaemonSet](ctx, c, kube.DaemonSetKind(), "", v1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("listing DaemonSets: %w", err)
	}
	out := map[string]bool{}
	for _, s := range sets {
		out[s.Namespace+"/"+s.Name] = true
	}
	return out, nil
}

func readBudgets(ctx context.Context, c *kube.Client) ([]policyv1.PodDisruptionBudget, error) {
	budgets, err := kube.ListAs[policyv1.PodDisruptionBudget](ctx, c, kube.PodDisruptionBudgetKind(), "", v1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	return budgets, nil
}
