// Package versions has the module that reads which versions of the cluster's components a
// host has.
package versions

import (
	"context"
	"os"
	"regexp"
	"strings"
	"time"

	"deployer/engine"
)

// Components reads versions and changes nothing. The output of a host without any
// component is empty.
type Components struct{}

var _ engine.Module = (*Components)(nil)

// ReadOnly is true.
func (*Components) ReadOnly() bool { return true }

// installed are programs that systemd units start. A program counts only where its
// unit is there: a leftover binary does not run.
var installed = []struct{ name, unit, path string }{
	{"etcd", "/etc/systemd/system/etcd.service", "/usr/local/bin/etcd"},
	{"kubelet", "/etc/systemd/system/kubelet.service", "/usr/local/bin/kubelet"},
	{"containerd", "/etc/systemd/system/containerd.service", "/usr/local/bin/containerd"},
	{"runc", "/etc/systemd/system/containerd.service", "/usr/local/sbin/runc"},
}

// manifests is the directory of static pods, and pods the names of those whose version is
// the tag of their image.
const manifests = "/etc/kubernetes/manifests/"

var pods = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}

// kubeletConfig is the kubelet's configuration file.
const kubeletConfig = "/var/lib/kubelet/config.yaml"

// Check reads. The output has versions, by program, with a leading v where the program is
// no distribution's build; missing_images, the images that manifests name and containerd
// does not have, by program; and policies: cpuManagerPolicy and memoryManagerPolicy of the
// kubelet, where its file sets them. A program that does not answer has no version, and
// neither has one whose image is missing: it does not run.
func (*Components) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	found, missing, policies := map[string]any{}, map[string]any{}, map[string]any{}
	for _, p := range installed {
		if _, err := os.Stat(sys.Path(p.unit)); err != nil {
			continue
		}
		if v := programVersion(ctx, sys, p.path); v != "" {
			found[p.name] = v
		}
	}
	named := map[string]image{}
	for _, name := range pods {
		if i, ok := imageOf(sys, manifests+name+".yaml"); ok {
			named[name] = i
		}
	}
	has := imagesOf(ctx, sys, len(named) > 0)
	for name, i := range named {
		if has(i) {
			found[name] = i.version
		} else {
			missing[name] = i.name
		}
	}
	for _, key := range []string{"cpuManagerPolicy", "memoryManagerPolicy"} {
		if value := topLevel(sys, kubeletConfig, key); value != "" {
			policies[key] = value
		}
	}
	return engine.NoChange(engine.Output{"versions": found, "missing_images": missing, "policies": policies}), nil
}

// Apply is never needed.
func (*Components) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// number is a version in the output of --version: "Kubernetes v1.36.3", "etcd Version:
// 3.6.8", "containerd github.com/containerd/containerd/v2 v2.2.1 <commit>", "runc version
// 1.1.5+ds1". The path of a Go module ends in a bare major version, which has no dots.
var number = regexp.MustCompile(`\bv?(\d+\.\d+\.\d+[-+.\w]*)`)

// answerTimeout is the maximum time that a program may take to print its version; a
// program of 100 MB that is read from a slow disk for the first time takes some seconds.
const answerTimeout = 30 * time.Second

// programVersion returns the version that a program prints; "" when it is not there or
// does not print one.
func programVersion(ctx context.Context, sys engine.System, path string) string {
	if _, err := os.Stat(sys.Path(path)); err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	res, err := sys.Run(ctx, engine.Command{Argv: []string{sys.Path(path), "--version"}, MaxOutput: 4096})
	if err != nil || res.Exit != 0 {
		return ""
	}
	line, _, _ := strings.Cut(res.Stdout, "\n")
	if m := number.FindStringSubmatch(line); m != nil {
		return "v" + m[1]
	}
	return ""
}

// topLevel returns the value of a key of a YAML file that deployer wrote: a line that
// begins with the key.
func topLevel(sys engine.System, path, key string) string {
	text, err := os.ReadFile(sys.Path(path))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}
