package machine

import "fmt"

// EngineFlags are the engine's own flags, before its verb.
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

// wantFiles is the kernel's fs.nr_open, the limit of a Debian host. wantProcs is
// the default of kernel.pid_max: more processes there never are. Without
// CAP_SYS_RESOURCE podman 4.3 cannot give a container as many as its own hard
// limit, so the smaller number is also the one that always works.
const (
	wantFiles = 1048576
	wantProcs = 32768
)

// HostFlags are the flags of `run` that make a container a host with systemd.
//
//   - A cgroup namespace of its own: otherwise containers started inside the
//     host look for their cgroup at paths that do not exist there.
//   - No limit on tasks: podman's default of 2048 is less than one busy master.
//   - Limits on files and processes as high as the machine lets them be; without
//     CAP_SYS_RESOURCE the engine's own, higher defaults would be refused.
//   - What systemd asks of a container (systemd.io/CONTAINER_INTERFACE): $container,
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

// Limits are the flags of `run` for the limits on files and processes.
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
