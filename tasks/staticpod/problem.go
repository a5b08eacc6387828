package staticpod

import (
	"context"
	"slices"

	"deployer/engine"
	"deployer/tasks/containerd"
)

// Problem returns nil when the kubelet runs a static pod as its manifest says, from the files
// that are on the host now. It looks once, and asks the pod nothing.
func Problem(ctx context.Context, sys engine.System, manifest string) error {
	r := &Ready{Manifest: manifest}
	m, err := r.read(sys)
	if err != nil {
		return err
	}
	return r.runs(ctx, sys, m)
}

// NameServers are the name servers with which the pods of an application started on a host, by
// pod. The kubelet copies them from the host when it makes a pod, and never again.
func NameServers(ctx context.Context, sys engine.System, namespace, app string) (map[string][]string, error) {
	c := containerd.Connect(sys, "", "")
	ids, err := list(ctx, c,
		`labels."io.cri-containerd.kind"==sandbox`,
		`labels."io.kubernetes.pod.namespace"==`+namespace,
		`labels."k8s-app"==`+app)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	out, err := c.Run(ctx, "tasks", "ls")
	if err != nil {
		return nil, err
	}
	running := parseTasks(out)
	found := map[string][]string{}
	for _, id := range ids {
		if running[id] == "" {
			continue // of a pod that has ended
		}
		if out, err = c.Run(ctx, "containers", "info", id); err != nil {
			continue // removed since it was listed
		}
		if pod, err := parseSandbox(out); err == nil {
			found[pod.name] = pod.nameServers
		}
	}
	return found, nil
}

// PodsWithServer returns the running pods of a host that started with a name server, as namespace/name,
// sorted.
func PodsWithServer(ctx context.Context, sys engine.System, server string) ([]string, error) {
	c := containerd.Connect(sys, "", "")
	ids, err := list(ctx, c, `labels."io.cri-containerd.kind"==sandbox`)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	out, err := c.Run(ctx, "tasks", "ls")
	if err != nil {
		return nil, err
	}
	running := parseTasks(out)
	var found []string
	for _, id := range ids {
		if running[id] == "" {
			continue // of a pod that has ended
		}
		if out, err = c.Run(ctx, "containers", "info", id); err != nil {
			continue // removed since it was listed
		}
		if pod, err := parseSandbox(out); err == nil && slices.Contains(pod.nameServers, server) {
			found = append(found, pod.namespace+"/"+pod.name)
		}
	}
	slices.Sort(found)
	return found, nil
}
