package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"deployer/engine"
)

// managedAnnotation records the labels and taints of a node that come from the
// inventory. Labels and taints that are removed from the inventory are removed from
// the node; labels and taints of other programs stay.
const managedAnnotation = "deployer/managed"

// NodeSpec is the wanted state of a Node object. Nil labels or taints: unchanged. An
// empty map or list: all labels or taints of the inventory are removed.
type NodeSpec struct {
	Labels  map[string]string
	Taints  []corev1.Taint
	PodCIDR string // ranges separated by commas; empty: unchanged
}

type managed struct {
	Labels []string `json:"labels,omitempty"`
	Taints []string `json:"taints,omitempty"` // key:effect
}

// NodePatch returns the JSON merge patch from the node to the wanted state, nil when
// there is no difference, and the effects of the patch. The patch contains the
// resourceVersion of node, so that it fails on any other version. NodePatch fails when
// the node has another pod range.
func NodePatch(node *corev1.Node, wish NodeSpec) (patch []byte, effects []engine.Effect, err error) {
	meta, spec, annotations := map[string]any{}, map[string]any{}, map[string]any{}
	ranges, err := podRangePatch(node, wish.PodCIDR, spec, annotations)
	if err != nil {
		return nil, nil, err
	}
	var had managed
	if text := node.Annotations[managedAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &had); err != nil {
			return nil, nil, fmt.Errorf("annotation %s of node %s: %w; remove the annotation", managedAnnotation, node.Name, err)
		}
	}
	has := had
	if wish.Labels != nil {
		effects = append(effects, labelChanges(node, wish, had, meta)...)
		has.Labels = slices.Sorted(maps.Keys(wish.Labels))
	}
	if wish.Taints != nil {
		effects = append(effects, taintChanges(node, wish, had, spec)...)
		has.Taints = taintKeys(wish.Taints)
	}
	for _, change := range ranges {
		effects = append(effects, nodeEffect(node, change))
	}
	if !slices.Equal(has.Labels, had.Labels) || !slices.Equal(has.Taints, had.Taints) {
		text, err := json.Marshal(has)
		if err != nil {
			return nil, nil, err
		}
		annotations[managedAnnotation] = string(text)
		if len(effects) == 0 {
			effects = append(effects, nodeEffect(node, "record the labels and taints of the inventory"))
		}
	}
	if len(effects) == 0 {
		return nil, nil, nil
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	meta["resourceVersion"] = node.ResourceVersion
	patch, err = json.Marshal(map[string]any{"metadata": meta, "spec": spec})
	return patch, effects, err
}

func labelChanges(node *corev1.Node, wish NodeSpec, had managed, meta map[string]any) (effects []engine.Effect) {
	changed := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(wish.Labels)) {
		if now, ok := node.Labels[key]; !ok || now != wish.Labels[key] {
			changed[key] = wish.Labels[key]
			effects = append(effects, nodeEffect(node, "set label "+key+"="+wish.Labels[key]))
		}
	}
	for _, key := range had.Labels {
		_, wanted := wish.Labels[key]
		if _, there := node.Labels[key]; there && !wanted {
			changed[key] = nil // a merge patch removes null fields
			effects = append(effects, nodeEffect(node, "remove label "+key))
		}
	}
	if len(changed) > 0 {
		meta["labels"] = changed
	}
	return effects
}

// taintChanges puts the whole list of taints into spec when a taint changes, as a merge
// patch replaces lists whole. Taints that do not come from the inventory, such as
// those of the node lifecycle controller, stay.
func taintChanges(node *corev1.Node, wish NodeSpec, had managed, spec map[string]any) (effects []engine.Effect) {
	wanted := map[string]corev1.Taint{}
	for _, t := range wish.Taints {
		wanted[taintKey(t)] = t
	}
	taints := []corev1.Taint{}
	for _, t := range node.Spec.Taints {
		want, ours := wanted[taintKey(t)]
		switch {
		case ours && want.Value != t.Value:
			effects = append(effects, nodeEffect(node, "set taint "+taintText(want)))
			taints = append(taints, want)
		case ours || !slices.Contains(had.Taints, taintKey(t)):
			taints = append(taints, t)
		default:
			effects = append(effects, nodeEffect(node, "remove taint "+taintText(t)))
		}
		delete(wanted, taintKey(t))
	}
	for _, t := range wish.Taints {
		if _, missing := wanted[taintKey(t)]; missing {
			effects = append(effects, nodeEffect(node, "set taint "+taintText(t)))
			taints = append(taints, t)
			delete(wanted, taintKey(t))
		}
	}
	if len(effects) > 0 {
		spec["taints"] = taints
	}
	return effects
}

func taintKey(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }

func taintKeys(taints []corev1.Taint) []string {
	var keys []string
	for _, t := range taints {
		keys = append(keys, taintKey(t))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// taintText writes a taint as kubectl does: key=value:effect.
func taintText(t corev1.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + string(t.Effect)
	}
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}

func nodeEffect(node *corev1.Node, action string) engine.Effect {
	return engine.Effect{Kind: engine.EffectObject, Target: "Node " + node.Name, Action: action}
}
