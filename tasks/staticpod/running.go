package staticpod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"deployer/tasks/containerd"
)

// running returns nil when containerd runs every container of the pod in a
// sandbox that was made from this very manifest. The kubelet names a static pod
// NAME-NODE and hands its annotations to the sandbox, whose description
// containerd keeps (containerd internal/cri/store/sandbox, Metadata).
func running(ctx context.Context, c containerd.Client, m manifest) error {
	sandboxes, err := list(ctx, c,
		`labels."io.cri-containerd.kind"==sandbox`,
		`labels."io.kubernetes.pod.namespace"==`+m.Metadata.Namespace,
		`labels."io.kubernetes.pod.name"~=`+quote("^"+regexp.QuoteMeta(m.Metadata.Name)+"-"))
	if err != nil {
		return err
	}
	uid, err := find(ctx, c, sandboxes, m)
	if err != nil {
		return err
	}
	tasks, err := c.Run(ctx, "tasks", "ls")
	if err != nil {
		return err
	}
	up := parseTasks(tasks)
	for _, container := range m.Spec.Containers {
		ids, err := list(ctx, c, `labels."io.kubernetes.pod.uid"==`+uid, `labels."io.kubernetes.container.name"==`+container.Name)
		if err != nil {
			return err
		}
		if !anyOf(ids, up) {
			return fmt.Errorf("container %s of pod %s does not run yet", container.Name, m.Metadata.Name)
		}
	}
	return nil
}

// find returns the uid of the pod whose sandbox carries the manifest's hash.
func find(ctx context.Context, c containerd.Client, sandboxes []string, m manifest) (uid string, err error) {
	for _, id := range sandboxes {
		out, err := c.Run(ctx, "containers", "info", id)
		if err != nil {
			continue // removed since it was listed
		}
		pod, err := parseSandbox(out)
		if err != nil {
			return "", fmt.Errorf("reading what containerd knows of sandbox %s: %w", id, err)
		}
		if pod.annotations[HashAnnotation] == m.Metadata.Annotations[HashAnnotation] {
			uid = pod.uid
		}
	}
	switch {
	case uid != "":
		return uid, nil
	case len(sandboxes) > 0:
		return "", fmt.Errorf("the kubelet still runs pod %s as an older manifest says", m.Metadata.Name)
	}
	return "", fmt.Errorf("the kubelet has not started pod %s yet", m.Metadata.Name)
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
	uid         string
	annotations map[string]string
}

// parseSandbox reads the output of ctr containers info. The sandbox's
// description is an extension: JSON, as bytes, in JSON.
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
					UID string `json:"uid"`
				} `json:"metadata"`
				Annotations map[string]string `json:"annotations"`
			}
		}
	}
	if err := json.Unmarshal(ext.Value, &meta); err != nil {
		return sandbox{}, err
	}
	return sandbox{uid: meta.Metadata.Config.Metadata.UID, annotations: meta.Metadata.Config.Annotations}, nil
}

// parseTasks reads the ids of running tasks from ctr tasks ls.
func parseTasks(out string) map[string]bool {
	up := map[string]bool{}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[2] == "RUNNING" {
			up[fields[0]] = true
		}
	}
	return up
}

func anyOf(ids []string, up map[string]bool) bool {
	for _, id := range ids {
		if up[id] {
			return true
		}
	}
	return false
}
