package cluster

// The plugins of containerd 2 that form its CRI service
// (github.com/containerd/containerd, docs/cri/config.md).
const (
	criImages  = "io.containerd.cri.v1.images"
	criRuntime = "io.containerd.cri.v1.runtime"
)

// containerdConfig returns the configuration of containerd except for the image of pod
// sandboxes, whose reference only the catalogue has. Overrides are by part: root is the
// top of the file, images and runtime the two CRI plugins, runc the options of that
// runtime. Other keys go to runtime, which has nearly all settings of CRI.
func (r *resolver) containerdConfig(n Node, over map[string]any) map[string]any {
	rest := withoutKeys(over, extraArgs, versionKey, "root", "images", "runtime", "runc")
	runtime := mergeLayers(rest, section(over, "runtime"))
	runc := map[string]any{"containerd": map[string]any{"runtimes": map[string]any{"runc": map[string]any{"options": section(over, "runc")}}}}
	tree := containerdBase(n)
	tree = merge(tree, section(over, "root"))
	return merge(tree, map[string]any{"plugins": map[string]any{
		criImages:  section(over, "images"),
		criRuntime: mergeLayers(runtime, runc),
	}})
}

// containerdBase returns deployer's own settings of containerd.
func containerdBase(n Node) map[string]any {
	runc := map[string]any{
		"runtime_type": "io.containerd.runc.v2",
		"options": map[string]any{
			"BinaryName": "/usr/local/sbin/runc",
			// kubelet and runtime must use the same cgroup driver, otherwise pods die under memory
			// pressure: kubernetes.io/docs/setup/production-environment/container-runtimes.
			"SystemdCgroup": n.KubeletConfig["cgroupDriver"] == "systemd",
		},
	}
	tree := map[string]any{
		"version":   3, // the form of containerd 2's configuration
		"root":      "/var/lib/containerd",
		"state":     "/run/containerd",
		"oom_score": -999, // what the kubelet gives itself and the runtime's unit
		"grpc":      map[string]any{"address": "/run/containerd/containerd.sock"},
		"metrics":   map[string]any{"address": hostPort(localAddress, 1338)},
	}
	images := map[string]any{
		"snapshotter": "overlayfs",
		"registry":    map[string]any{"config_path": "/etc/containerd/certs.d"},
	}
	runtime := map[string]any{
		"cni": map[string]any{"bin_dirs": []any{"/opt/cni/bin"}, "conf_dir": "/etc/cni/net.d"},
		"containerd": map[string]any{
			"default_runtime_name": "runc",
			"runtimes":             map[string]any{"runc": runc},
		},
	}
	tree["plugins"] = map[string]any{criImages: images, criRuntime: runtime}
	return tree
}
