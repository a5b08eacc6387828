package hostcheck

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/hostcmd"
	"deployer/tasks/kernel"
)

func swap(sys engine.System) checkresult.Row {
	areas := kernel.Swaps(sys)
	switch {
	case len(areas) == 0:
		return checkresult.OK("off")
	case container(sys) != "":
		return checkresult.Problem("turn it off on the machine outside, or allow it with failSwapOn: false in the kubelet's overrides",
			"on (%s), and a %s container cannot turn it off", strings.Join(areas, ", "), container(sys))
	}
	return checkresult.OK("on (%s); it is turned off on the way", strings.Join(areas, ", "))
}

// container names the kind of container that this host is, if it is one.
func container(sys engine.System) string {
	data, err := os.ReadFile(sys.Path("/run/systemd/container")) // written by systemd itself
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (r Requirement) kernel(ctx context.Context, sys engine.System) checkresult.Row {
	switch r.Name {
	case "iptables":
		return filter(ctx, sys, []string{"iptables", "--wait", "5", "--table", "nat", "--list-rules"}, "nf_tables", "ip_tables")
	case "nftables":
		return filter(ctx, sys, []string{"nft", "list", "tables"}, "nf_tables")
	case "nftables_services":
		return minKernel(sys, 5, 13)
	case "tcp_md5":
		return tcpMD5()
	}
	switch {
	case kernel.Active(sys, r.Name):
		return checkresult.OK("in the kernel")
	case kernel.Loadable(sys, r.Name):
		return checkresult.OK("can be loaded")
	}
	return checkresult.Problem("install the kernel's modules, or another kernel", "the kernel neither has %s nor can load it", r.Name)
}

// minKernel requires a version of the kernel. kube-proxy in mode nftables refuses to start before 5.13 (kubernetes v1.36.3,
// pkg/proxy/nftables/supported.go); the program nft that it needs is in its image.
func minKernel(sys engine.System, major, minor int) checkresult.Row {
	data, err := os.ReadFile(sys.Path("/proc/sys/kernel/osrelease"))
	if err != nil {
		return checkresult.Problem("look why the file cannot be read", "the version of the kernel is unknown: %v", err)
	}
	release := strings.TrimSpace(string(data))
	var have [2]int
	if n, _ := fmt.Sscanf(release, "%d.%d", &have[0], &have[1]); n < 2 {
		return checkresult.OK("not compared: the kernel has the version %s", release)
	}
	if have[0] < major || have[0] == major && have[1] < minor {
		return checkresult.Problem("install a newer kernel, or set cluster.kube_proxy.mode: iptables", "kernel %s is older than %d.%d", release, major, minor)
	}
	return checkresult.OK("kernel %s", release)
}

// filter tests a packet filter by its own program; when that is not installed yet, it
// checks whether the kernel has one of the modules.
func filter(ctx context.Context, sys engine.System, argv []string, modules ...string) checkresult.Row {
	if where(sys, argv[0]) == "" {
		for _, m := range modules {
			if kernel.Active(sys, m) || kernel.Loadable(sys, m) {
				return checkresult.OK("the kernel has %s; %s is not installed yet", m, argv[0])
			}
		}
		return checkresult.OK("not tried: %s is not installed yet", argv[0])
	}
	if _, err := hostcmd.Run(ctx, sys, argv...); err != nil {
		return checkresult.Problem("install the kernel's modules for it, or another kernel", "not usable: %v", err)
	}
	return checkresult.OK("usable")
}

// cgroup requires the controllers that limit pods, in version 2 or, where that is enough, 1.
func (r *Requirement) cgroup(sys engine.System) checkresult.Row {
	if data, err := os.ReadFile(sys.Path("/sys/fs/cgroup/cgroup.controllers")); err == nil {
		have := strings.Fields(string(data))
		for _, want := range []string{"cpu", "memory", "pids"} {
			if !slices.Contains(have, want) {
				return checkresult.Problem("boot with cgroup controllers enabled: cgroup_enable="+want, "cgroup v2 without the controller %s", want)
			}
		}
		return checkresult.OK("version 2")
	}
	if r.MinVersion > 1 {
		return checkresult.Problem(r.Why, "the host has cgroups of version 1, and version %d is needed", r.MinVersion)
	}
	for _, want := range []string{"cpu", "memory", "pids"} {
		if _, err := os.Stat(sys.Path("/sys/fs/cgroup/" + want)); err != nil {
			return checkresult.Problem("mount the cgroup file systems", "no cgroup controller %s", want)
		}
	}
	return checkresult.OK("version 1")
}
