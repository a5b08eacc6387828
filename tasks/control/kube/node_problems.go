package kube

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// namedNodes is how many nodes a line of nodeTroubles names.
const namedNodes = 5

// nodeProblems says why nodes take no pods, nodes with the same reason in one
// line; at most ten lines. The scheduler speaks of "untolerated taint(s)" only,
// which are made of these.
func nodeProblems(nodes []corev1.Node) []string {
	var reasons []string
	names := map[string][]string{}
	for _, n := range nodes {
		for _, reason := range nodeProblem(n) {
			if names[reason] == nil {
				reasons = append(reasons, reason)
			}
			names[reason] = append(names[reason], n.Name)
		}
	}
	var lines []string
	for _, reason := range reasons[:min(len(reasons), 10)] {
		who := names[reason]
		line := "node " + strings.Join(who[:min(len(who), namedNodes)], ", ")
		if more := len(who) - namedNodes; more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, line+": "+reason)
	}
	return lines
}

func nodeProblem(n corev1.Node) []string {
	var out []string
	if n.Spec.Unschedulable {
		out = append(out, "cordoned")
	}
	for _, c := range n.Status.Conditions {
		good := corev1.ConditionFalse // of pressures and of NetworkUnavailable
		if c.Type == corev1.NodeReady {
			good = corev1.ConditionTrue
		}
		if c.Status != good {
			out = append(out, fmt.Sprintf("%s is %s: %s", c.Type, c.Status, c.Message))
		}
	}
	return out
}
