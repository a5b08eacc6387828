package machine

import "fmt"

// EngineFlags returns the engine's own flags, which come before its command.
//
// With cgroup v1 mounted podman's default runtime crun refuses to start; runc
// works. Podman's cgroup manager "systemd" needs systemd as the machine's init.
func (m Machine) EngineFlags(e Engine) []string {
	if e != Podman {
		return nil
	}
	var flags []string
	if m.Cgroups != CgroupsV2 {
		flags = append(flags, "--runtime=runc")
	}
	if m.Cgroups != CgroupsV2 || !m.Systemd {
		flags = append(flags, "--cgroup-manager=cgroupfs")
	}
	return flags
}

// wantFiles is the kernel's fs.nr_open, the limit of a Debian host. wantProcs is the
// default of kernel.pid_max, the maximum number of processes. Without CAP_SYS_RESOURCE
// podman 4.3 cannot set the limit of a container as high as its own hard limit, so that
// the smaller number is the safe one.
const (
	wantFiles = 1048576
	wantProcs = 32768
)

// HostFlags returns the flags of `run` for a container that is a host with systemd.
//
//   - A cgroup namespace of its own: otherwise containers started inside the
//     host look for their cgroup at paths that do not exist there.
//   - No limit on tasks: one busy master needs more than podman's default of 2048.
//   - Limits on files and processes as high as the machine allows; without
//     CAP_SYS_RESOURCE the kernel rejects the higher defaults of the engine.
//   - The requirements of systemd (systemd.io/CONTAINER_INTERFACE): $container,
//     empty /run and /tmp, a shutdown on SIGRTMIN+3. Podman's own --systemd=always
//     is off: on cgroup v1 it shows every host the machine's whole name=systemd
//     tree, in which the hosts then remove each other's units.
//   - resolv.conf and hosts are the host's own files, as on a real one.
func (m Machine) HostFlags(e Engine) []string {
	flags := []string{"--privileged", "--cgroupns=private", "--pids-limit=-1"}
	flags = append(flags, m.Limits()...)
	flags = append(flags, "--tmpfs=/run:exec,mode=755", "--tmpfs=/tmp:exec,mode=1777", "--stop-signal=SIGRTMIN+3", "--env=container="+string(e))
	if e == Podman {
		flags = append(flags, "--systemd=false", "--dns=none", "--no-hosts", "--log-driver=k8s-file")
	}
	return flags
}

// Limits returns the flags of `run` for the limits on files and processes.
func (m Machine) Limits() []string {
	return []string{
		ulimit("nofile", wantFiles, m.HardFiles, m.SysResource),
		ulimit("nproc", wantProcs, m.HardProcs, m.SysResource),
	}
}

func ulimit(name string, want, hard uint64, raise bool) string {
	if want > hard && !raise {
		want = hard
	}
	return fmt.Sprintf("--ulimit=%s=%d:%d", name, want, want)
}
