package kube

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"deployer/cluster"
)

// PodRangeAnnotation records the pod range of a family that the cluster got when the node had a range
// of the other one already: Kubernetes sets spec.podCIDRs once.
const PodRangeAnnotation = "deployer/further-pod-cidr"

// PodRangesOf returns the pod ranges of a node, separated by commas: those of Kubernetes, and that of
// [PodRangeAnnotation]; empty without any.
func PodRangesOf(node *corev1.Node) string {
	ranges := node.Spec.PodCIDRs
	if len(ranges) == 0 {
		ranges = cluster.SplitList(node.Spec.PodCIDR)
	}
	all := strings.Join(ranges, ",")
	if further := node.Annotations[PodRangeAnnotation]; further != "" && all != "" && cluster.OfFamily(all, cluster.FamilyOf(further)) == "" {
		all += "," + further
	}
	return all
}

// podRangePatch adds the wanted ranges to the fields of a patch: to spec when the node has none yet,
// and a further one to annotations. It returns the texts of the changes, and fails when the node has
// another range.
func podRangePatch(node *corev1.Node, wanted string, spec, annotations map[string]any) ([]string, error) {
	has, list := PodRangesOf(node), cluster.SplitList(wanted)
	if has == "" && len(list) > 0 {
		spec["podCIDR"], spec["podCIDRs"] = list[0], list
		return []string{"set pod range " + wanted}, nil
	}
	var changes []string
	for _, want := range list {
		switch other := cluster.OfFamily(has, cluster.FamilyOf(want)); other {
		case want:
		case "":
			annotations[PodRangeAnnotation] = want
			changes = append(changes, "record further pod range "+want)
		default:
			return nil, fmt.Errorf("node %s has the pod range %s instead of %s; Kubernetes does not change the range of a node: drain the node, delete the Node object, then run this again",
				node.Name, other, want)
		}
	}
	return changes, nil
}
