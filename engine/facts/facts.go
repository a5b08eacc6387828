// Package facts reads what an agent reports of its host: from /proc, /sys, /etc
// and the network interfaces, without running a program.
//
// Reading never fails. A fact that cannot be read stays empty, and the task that needs the
// fact reports the error.
package facts

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"deployer/engine"
)

// Read reads the facts of the host whose file system begins at root ("" or "/"
// for the host itself). Kernel, addresses and clock are those of the machine
// that runs it in any case.
func Read(root string) engine.Facts {
	h := host{root: root}
	f := engine.Facts{
		Arch:      runtime.GOARCH,
		CPUs:      runtime.NumCPU(),
		Kernel:    kernel(),
		MachineID: h.line("/etc/machine-id"),
		BootID:    h.line("/proc/sys/kernel/random/boot_id"),
		Init:      h.init(),
		CgroupV2:  h.exists("/sys/fs/cgroup/cgroup.controllers"),
		UnixTime:  float64(time.Now().UnixNano()) / 1e9,
	}
	f.Hostname, _ = os.Hostname()
	h.release(&f)
	f.OSFamily = Family(f.OS, f.OSLike)
	f.MemoryBytes, f.SwapBytes = h.memory()
	f.Addresses = addresses()
	f.DefaultIface, f.DefaultIP = h.defaultRoute()
	f.PackageManager, f.Virtualization, f.SELinux = h.packageManager(), h.virtualization(), h.selinux()
	f.RebootRequired = h.exists("/run/reboot-required")
	return f
}

type host struct{ root string }

func (h host) read(path string) string {
	// All of these files are small; /proc files have no size to look at.
	data, err := os.ReadFile(filepath.Join("/", h.root, path))
	if err != nil {
		return ""
	}
	return string(data)
}

func (h host) line(path string) string {
	first, _, _ := strings.Cut(h.read(path), "\n")
	return strings.TrimSpace(first)
}

func (h host) exists(path string) bool {
	_, err := os.Stat(filepath.Join("/", h.root, path))
	return err == nil
}

// init names process 1. The test for systemd is that of sd_booted(3).
func (h host) init() string {
	if h.exists("/run/systemd/system") {
		return "systemd"
	}
	return h.line("/proc/1/comm")
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}
