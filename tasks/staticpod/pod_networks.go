package staticpod

import (
	"context"
	"os"
	"slices"

	"deployer/engine"
	"deployer/tasks/containerd"
)

// PodNetwork is the network namespace of a pod that runs on the host.
type PodNetwork struct {
	Namespace string // of the pod in Kubernetes
	Name      string // of the pod
	Path      string // file of its network namespace
}

// PodNetworks returns at most limit running pods of the host that have a network of their own,
// those of kube-system first.
func PodNetworks(ctx context.Context, sys engine.System, limit int) ([]PodNetwork, error) {
	c := containerd.Connect(sys, "", "")
	system, err := list(ctx, c, `labels."io.cri-containerd.kind"==sandbox`, `labels."io.kubernetes.pod.namespace"==kube-system`)
	if err != nil {
		return nil, err
	}
	all, err := list(ctx, c, `labels."io.cri-containerd.kind"==sandbox`)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	out, err := c.Run(ctx, "tasks", "ls")
	if err != nil {
		return nil, err
	}
	running := parseTasks(out)
	var found []PodNetwork
	for _, id := range append(system, all...) {
		path := sys.Path("/proc/" + running[id] + "/ns/net")
		if running[id] == "" || slices.ContainsFunc(found, func(p PodNetwork) bool { return p.Path == path }) || !isOwnNetwork(path) {
			continue
		}
		if out, err = c.Run(ctx, "containers", "info", id); err != nil {
			continue // removed since it was listed
		}
		pod, err := parseSandbox(out)
		if err != nil || !hasRunning(ctx, c, pod.uid, running) {
			continue
		}
		if found = append(found, PodNetwork{Namespace: pod.namespace, Name: pod.name, Path: path}); len(found) == limit {
			break
		}
	}
	return found, nil
}

// hasRunning reports whether a container of a pod runs. A pod whose containers have ended is being
// removed, and its network may have been removed already.
func hasRunning(ctx context.Context, c containerd.Client, uid string, running map[string]string) bool {
	containers, err := list(ctx, c, `labels."io.cri-containerd.kind"==container`, `labels."io.kubernetes.pod.uid"==`+quote(uid))
	return err == nil && slices.ContainsFunc(containers, func(id string) bool { return running[id] != "" })
}

// isOwnNetwork reports whether the file of a network namespace is not that of the host, in which
// this process runs.
func isOwnNetwork(path string) bool {
	pod, err := os.Stat(path)
	if err != nil {
		return false // the process has ended
	}
	host, err := os.Stat("/proc/thread-self/ns/net")
	return err == nil && !os.SameFile(pod, host)
}
