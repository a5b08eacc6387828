package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// PodProblems returns the reasons for which pods of a workload do not run, one line each, with the
// last line of the log of a container that ends. See podProblems.
func PodProblems(ctx context.Context, c *Client, w Workload) []string {
	return podProblems(ctx, c, []Workload{w})
}

// podProblems returns the reasons for which pods of the workloads do not run, one line
// each, and the problems of nodes when the scheduler has found no node for a pod; at
// most ten lines of each. Errors of the API are ignored.
func podProblems(ctx context.Context, c *Client, workloads []Workload) []string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var lines []string
	unscheduled := false
	for _, w := range workloads {
		o, err := c.WithRetryTimeout(-1).Get(ctx, w.Kind, w.Namespace, w.Name)
		if err != nil {
			continue
		}
		labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
		pods, err := c.WithRetryTimeout(-1).List(ctx, PodKind(), w.Namespace, v1.ListOptions{LabelSelector: selector(labels)})
		if err != nil {
			continue
		}
		for _, p := range pods {
			if t := podProblem(ctx, c, &p); t != "" && len(lines) < 10 {
				lines = append(lines, t)
			}
			node, _, _ := unstructured.NestedString(p.Object, "spec", "nodeName")
			unscheduled = unscheduled || node == ""
		}
	}
	if unscheduled {
		if nodes, err := listNodes(ctx, c.WithRetryTimeout(-1), v1.ListOptions{}); err == nil {
			lines = append(lines, nodeProblems(nodes)...)
		}
	}
	return lines
}

func podProblem(ctx context.Context, c *Client, o *unstructured.Unstructured) string {
	var p corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p); err != nil {
		return ""
	}
	where := fmt.Sprintf("pod %s/%s", p.Namespace, p.Name)
	if p.Spec.NodeName != "" {
		where += " on " + p.Spec.NodeName
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Reason != "PodInitializing":
			return fmt.Sprintf("%s: container %s: %s %s", where, s.Name, s.State.Waiting.Reason, s.State.Waiting.Message) + loggedBy(ctx, c, &p, s)
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			return fmt.Sprintf("%s: container %s exited with %d %s", where, s.Name, s.State.Terminated.ExitCode, s.State.Terminated.Message) + loggedBy(ctx, c, &p, s)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionFalse && (c.Type == corev1.PodScheduled || c.Type == corev1.PodReady) {
			return fmt.Sprintf("%s: not %s: %s %s", where, c.Type, c.Reason, c.Message)
		}
	}
	return ""
}

// loggedBy returns the last line of the log of a container that has ended, for an error; empty
// when there is none.
func loggedBy(ctx context.Context, c *Client, p *corev1.Pod, s corev1.ContainerStatus) string {
	if s.State.Terminated == nil && s.LastTerminationState.Terminated == nil {
		return ""
	}
	if line := lastLogLine(ctx, c, p, s.Name); line != "" {
		return "; its log ends: " + line
	}
	return ""
}

func selector(labels map[string]string) string {
	return v1.FormatLabelSelector(&v1.LabelSelector{MatchLabels: labels})
}
