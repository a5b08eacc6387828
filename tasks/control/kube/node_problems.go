package kube

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"deployer/shortlist"
)

// maxNamedNodes is the maximum number of nodes that a line of nodeProblems names.
const maxNamedNodes = 5

// nodeProblems returns the reasons for which nodes accept no pods: one line for each
// reason, with the names of its nodes; at most ten lines. The scheduler reports the
// resulting "untolerated taint(s)" only.
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
		lines = append(lines, "node "+shortlist.Names(names[reason], maxNamedNodes)+": "+reason)
	}
	return lines
}

func nodeProblem(n corev1.Node) []string {
	var out []string
	if n.Spec.Unschedulable {
		out = append(out, "cordoned")
	}
	for _, c := range n.Status.Conditions {
		good := corev1.ConditionFalse // the healthy status of pressures and of NetworkUnavailable
		if c.Type == corev1.NodeReady {
			good = corev1.ConditionTrue
		}
		if c.Status != good {
			out = append(out, fmt.Sprintf("%s is %s: %s", c.Type, c.Status, c.Message))
		}
	}
	return out
}
