package staticpod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"deployer/engine"
	"deployer/tasks/containerd"
)

// podState is containerd's state of a static pod.
type podState struct {
	uid   string            // of the pod of this manifest; empty: none yet
	older bool              // a pod of another manifest exists or existed
	pids  []string          // processes of older pods that still run
	up    map[string]string // processes of the containers that run, by container id
}

// look queries the pod's sandboxes. The kubelet names a static pod NAME-NODE and
// passes its annotations to the sandbox, whose description containerd stores
// (containerd internal/cri/store/sandbox, Metadata).
func look(ctx context.Context, c containerd.Client, m manifest) (podState, error) {
	sandboxes, err := list(ctx, c,
		`labels."io.cri-containerd.kind"==sandbox`,
		`labels."io.kubernetes.pod.namespace"==`+m.Metadata.Namespace,
		`labels."io.kubernetes.pod.name"~=`+quote("^"+regexp.QuoteMeta(m.Metadata.Name)+"-"))
	if err != nil || len(sandboxes) == 0 {
		return podState{}, err
	}
	out, err := c.Run(ctx, "tasks", "ls")
	if err != nil {
		return podState{}, err
	}
	running := parseTasks(out)
	seen := podState{up: running}
	for _, id := range sandboxes {
		out, err := c.Run(ctx, "containers", "info", id)
		if err != nil {
			continue // removed since it was listed
		}
		pod, err := parseSandbox(out)
		switch {
		case err != nil:
			return podState{}, fmt.Errorf("reading what containerd knows of sandbox %s: %w", id, err)
		case pod.annotations[HashAnnotation] == m.Metadata.Annotations[HashAnnotation]:
			seen.uid = pod.uid
			continue
		}
		seen.older = true
		if pid, ok := running[id]; ok {
			seen.pids = append(seen.pids, pid)
		}
	}
	return seen, nil
}

// problem returns nil when every container of the pod runs, and a *staleMountError when one has
// a deleted directory mounted.
func (s podState) problem(ctx context.Context, sys engine.System, c containerd.Client, m manifest) error {
	switch {
	case s.uid == "" && len(s.pids) > 0:
		return fmt.Errorf("the kubelet still runs pod %s as an older manifest says", m.Metadata.Name)
	case s.uid == "":
		return fmt.Errorf("the kubelet has not started pod %s yet", m.Metadata.Name)
	}
	for _, container := range m.Spec.Containers {
		id, err := s.container(ctx, c, container.Name)
		if err != nil {
			return err
		}
		if id == "" {
			return fmt.Errorf("container %s of pod %s does not run yet", container.Name, m.Metadata.Name)
		}
		if path := staleMount(sys, m, container, s.up[id]); path != "" {
			return &staleMountError{id: id, name: container.Name, path: path}
		}
	}
	return nil
}

// container returns the id of the pod's running container of this name; empty for none.
func (s podState) container(ctx context.Context, c containerd.Client, name string) (string, error) {
	ids, err := list(ctx, c, `labels."io.kubernetes.pod.uid"==`+s.uid, `labels."io.kubernetes.container.name"==`+name)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if s.up[id] != "" {
			return id, nil
		}
	}
	return "", nil
}

func list(ctx context.Context, c containerd.Client, filters ...string) ([]string, error) {
	out, err := c.Run(ctx, "containers", "ls", "-q", strings.Join(filters, ","))
	return strings.Fields(out), err
}

// quote writes a value of a containerd filter in quotes.
func quote(s string) string {
	raw, _ := json.Marshal(s) // strings always marshal
	return string(raw)
}

type sandbox struct {
	uid         string // of the pod
	namespace   string // of the pod
	name        string // of the pod
	annotations map[string]string
	nameServers []string
}

// parseSandbox parses the output of ctr containers info. The description of the
// sandbox is an extension: JSON, as bytes, in JSON.
func parseSandbox(out string) (sandbox, error) {
	var info struct {
		Extensions map[string]struct {
			Value []byte `json:"value"`
		}
	}
	if err := json.Unmarshal([]byte(out), &info); err != nil {
		return sandbox{}, err
	}
	ext, ok := info.Extensions["io.cri-containerd.sandbox.metadata"]
	if !ok {
		return sandbox{}, errors.New("it is no sandbox")
	}
	var meta struct {
		Metadata struct {
			Config struct {
				Metadata struct {
					UID       string `json:"uid"`
					Namespace string `json:"namespace"`
					Name      string `json:"name"`
				} `json:"metadata"`
				Annotations map[string]string `json:"annotations"`
				DNS         struct {
					Servers []string `json:"servers"`
				} `json:"dns_config"`
			}
		}
	}
	if err := json.Unmarshal(ext.Value, &meta); err != nil {
		return sandbox{}, err
	}
	config := meta.Metadata.Config
	return sandbox{uid: config.Metadata.UID, namespace: config.Metadata.Namespace, name: config.Metadata.Name, annotations: config.Annotations, nameServers: config.DNS.Servers}, nil
}

// parseTasks reads the running tasks from ctr tasks ls, with their processes.
func parseTasks(out string) map[string]string {
	up := map[string]string{}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[2] == "RUNNING" {
			up[fields[0]] = fields[1]
		}
	}
	return up
}
