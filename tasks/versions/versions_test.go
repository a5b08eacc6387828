package versions

import (
	"context"
	"os"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/tasks/tasktest"

	"github.com/google/go-cmp/cmp"
)

// TestComponents checks the versions that are read from the output of programs and
// from manifests, on hosts with all components, with some, and with none.
func TestComponents(t *testing.T) {
	t.Parallel()
	unit := "# Written by deployer.\n"
	none := map[string]any{}
	const apiserver = "spec:\n  containers:\n  - name: kube-apiserver\n    image: registry.k8s.io/kube-apiserver:v1.36.3\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  engine.Output
	}{
		"nothing": {nil, engine.Output{"versions": none, "missing_images": none, "policies": none}},
		"an image that the host does not have": {map[string]string{
			"/usr/local/bin/ctr":                            "registry.k8s.io/kube-apiserver:v1.35.4\nregistry.k8s.io/kube-proxy:v1.36.3@sha256:abc\n",
			"/etc/kubernetes/manifests/kube-apiserver.yaml": apiserver,
			"/etc/kubernetes/manifests/kube-proxy.yaml":     "spec:\n  containers:\n  - image: kube-proxy:v1.36.3\n",
		}, engine.Output{"versions": map[string]any{"kube-proxy": "v1.36.3"}, "missing_images": map[string]any{"kube-apiserver": "registry.k8s.io/kube-apiserver:v1.36.3"}, "policies": none}},
		"containerd does not answer": {map[string]string{
			"/usr/local/bin/ctr":                            "",
			"/etc/kubernetes/manifests/kube-apiserver.yaml": apiserver,
		}, engine.Output{"versions": map[string]any{"kube-apiserver": "v1.36.3"}, "missing_images": none, "policies": none}},
		"a master": {map[string]string{
			"/etc/systemd/system/kubelet.service":                    unit,
			"/etc/systemd/system/etcd.service":                       unit,
			"/etc/systemd/system/containerd.service":                 unit,
			"/usr/local/bin/kubelet":                                 "Kubernetes v1.36.3",
			"/usr/local/bin/etcd":                                    "etcd Version: 3.6.8\nGit SHA: 1.2.3",
			"/usr/local/bin/containerd":                              "containerd github.com/containerd/containerd/v2 v2.2.1 5f3a2",
			"/usr/local/sbin/runc":                                   "runc version 1.1.5+ds1\ncommit: x",
			"/etc/kubernetes/manifests/kube-apiserver.yaml":          apiserver,
			"/usr/local/bin/ctr":                                     "sha256:12ab\nregistry.k8s.io/kube-apiserver:v1.36.3\nmirror.example:5000/kube-controller-manager:v1.35.4\n",
			"/etc/kubernetes/manifests/kube-controller-manager.yaml": "spec:\n  containers:\n  - image: \"mirror.example:5000/kube-controller-manager:v1.35.4@sha256:abc\"\n",
			"/etc/kubernetes/manifests/kube-scheduler.yaml":          "spec: {}\n",
			"/var/lib/kubelet/config.yaml":                           "apiVersion: x\ncpuManagerPolicy: static\nnested:\n  memoryManagerPolicy: Static\n",
		}, engine.Output{
			"versions": map[string]any{"kubelet": "v1.36.3", "etcd": "v3.6.8", "containerd": "v2.2.1", "runc": "v1.1.5+ds1",
				"kube-apiserver": "v1.36.3", "kube-controller-manager": "v1.35.4"},
			"missing_images": none, "policies": map[string]any{"cpuManagerPolicy": "static"},
		}},
		"programs without a unit, and one that fails": {map[string]string{
			"/usr/local/bin/kubelet":                 "Kubernetes v1.36.3",
			"/etc/systemd/system/containerd.service": unit,
			"/usr/local/bin/containerd":              "",
		}, engine.Output{"versions": none, "missing_images": none, "policies": none}},
	} {
		sys := tasktest.New(t)
		for path, content := range c.files {
			sys.Write(t, path, content, 0o755)
		}
		sys.Exec = func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
			text, err := os.ReadFile(sys.Path(strings.TrimPrefix(cmd.Argv[0], sys.Root))) // a program of this test is a file with its output
			if err != nil || len(text) == 0 {
				return engine.CommandResult{Exit: 1}, err
			}
			return engine.CommandResult{Stdout: string(text)}, nil
		}
		change := tasktest.Check(t, sys, &Components{})
		if diff := cmp.Diff(c.want, change.Output); diff != "" || change.Needed {
			t.Errorf("%s: needed %t, (- want, + got):\n%s", name, change.Needed, diff)
		}
	}
}
