package kernel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func host(t *testing.T) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	for _, dir := range []string{"/etc/sysctl.d", "/etc/modules-load.d", "/sys/module"} {
		sys.Mkdir(t, dir)
	}
	sys.Write(t, "/proc/sys/kernel/osrelease", "6.1.0\n", 0o644)
	return sys
}

func TestSysctl(t *testing.T) {
	t.Parallel()
	sys := host(t)
	sys.Write(t, "/proc/sys/net/ipv4/ip_forward", "0\n", 0o644)
	sys.Write(t, "/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n", 0o644)
	sys.Write(t, "/proc/sys/net/ipv4/conf/eth0.100/forwarding", "0\n", 0o644)
	s := &Sysctl{Name: "test", Optional: true, Settings: map[string]string{
		"net.ipv4.ip_forward": "1", "net.ipv4.tcp_rmem": "4096 131072 6291456",
		"net/ipv4/conf/eth0.100/forwarding": "1", "net.none": "1",
	}}
	want := []string{
		"/etc/sysctl.d/90-deployer-test.conf: create",
		`net.ipv4.ip_forward: set "0" -> "1"`, `net/ipv4/conf/eth0.100/forwarding: set "0" -> "1"`,
	}
	if diff := cmp.Diff(want, tasktest.Actions(tasktest.Converge(t, sys, s))); diff != "" {
		t.Error(diff)
	}
	if got := sys.Read(t, "/etc/sysctl.d/90-deployer-test.conf"); strings.Contains(got, "net.none") || !strings.Contains(got, "net.ipv4.ip_forward = 1\n") {
		t.Errorf("drop-in:\n%s", got)
	}
	sys.Write(t, "/proc/sys/net/ipv4/ip_forward", "0\n", 0o644) // somebody turned it off again
	tasktest.Converge(t, sys, s)
}

func TestSysctlErrors(t *testing.T) {
	t.Parallel()
	sys := host(t)
	for want, s := range map[string]*Sysctl{
		"the kernel has no setting net.none": {Settings: map[string]string{"net.none": "1"}},
		"settings is empty":                  {},
		"want a file name":                   {Name: "../x", Settings: map[string]string{"a.b": "1"}},
	} {
		if _, _, err := tasktest.Run(t, sys, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, _, err := tasktest.Run(t, sys, &Sysctl{Settings: map[string]string{"net.none": "1"}}); err == nil {
		t.Fatal("no error")
	}
	if change := tasktest.Check(t, sys, &Sysctl{Settings: map[string]string{"net.none": "1"}}); len(change.Effects) != 2 {
		t.Errorf("the refused value was written down: %+v", change.Effects)
	}
}

func TestModules(t *testing.T) {
	t.Parallel()
	sys := host(t)
	sys.Write(t, "/lib/modules/6.1.0/modules.dep", "kernel/net/bridge/br_netfilter.ko.xz: kernel/net/bridge/bridge.ko.xz\nkernel/net/vxlan/vxlan.ko:\n", 0o644)
	sys.Write(t, "/lib/modules/6.1.0/modules.builtin", "kernel/fs/overlayfs/overlay.ko\n", 0o644)
	sys.Write(t, "/proc/modules", "vxlan 16384 0 - Live 0x0\n", 0o644)
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{
		"modprobe -- br-netfilter": {Do: func(engine.Command) { sys.Mkdir(t, "/sys/module/br_netfilter") }},
	})
	m := &Modules{Names: []string{"overlay", "br-netfilter", "vxlan", "none"}, Optional: true}
	change := tasktest.Converge(t, sys, m)
	want := []string{"/etc/modules-load.d/deployer-modules.conf: create", "br-netfilter: load module"}
	if diff := cmp.Diff(want, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"none"}, change.Output["missing"]); diff != "" {
		t.Error(diff)
	}
	if got := sys.Read(t, "/etc/modules-load.d/deployer-modules.conf"); got != "# Written by deployer.\nbr-netfilter\nvxlan\n" {
		t.Errorf("list for the next boot: %q", got)
	}
	_, _, err := tasktest.Run(t, sys, &Modules{Names: []string{"none"}})
	if err == nil || !strings.Contains(err.Error(), "has no module none and cannot load it") {
		t.Errorf("error %v", err)
	}
}

// TestModulesOfAKernelWithoutLibModules tests a host without /lib/modules: a container,
// or a kernel without loadable modules.
func TestModulesOfAKernelWithoutLibModules(t *testing.T) {
	t.Parallel()
	sys := host(t)
	sys.Write(t, "/proc/filesystems", "nodev\tproc\nnodev\toverlay\n", 0o644)
	m := &Modules{Names: []string{"overlay", "br_netfilter"}, Optional: true}
	if change := tasktest.Check(t, sys, m); change.Needed {
		t.Errorf("wants %+v", change.Effects)
	}
}

func TestModuleMissingAfterModprobeFails(t *testing.T) {
	t.Parallel()
	sys := host(t)
	sys.Write(t, "/lib/modules/6.1.0/modules.dep", "a/x.ko:\n", 0o644)
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{"modprobe": {}})
	if _, _, err := tasktest.Run(t, sys, &Modules{Names: []string{"x"}}); err == nil || !strings.Contains(err.Error(), "does not list the module") {
		t.Errorf("error %v", err)
	}
}

func TestSwap(t *testing.T) {
	t.Parallel()
	sys := host(t)
	sys.Write(t, "/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n", 0o644)
	sys.Write(t, "/etc/fstab", "# comment\n/dev/sda1 / ext4 defaults 0 1\n/dev/sda2 none swap sw 0 0\n# /old none swap sw 0 0\n", 0o640)
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{
		"swapoff --all": {Do: func(engine.Command) { sys.Write(t, "/proc/swaps", "Filename Type Size Used Priority\n", 0o644) }},
	})
	change := tasktest.Converge(t, sys, &Swap{State: "off"})
	if diff := cmp.Diff([]string{"/etc/fstab: replace", "/dev/sda2: stop swapping to it"}, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	want := "# comment\n/dev/sda1 / ext4 defaults 0 1\n# turned off by deployer: /dev/sda2 none swap sw 0 0\n# /old none swap sw 0 0\n"
	if diff := cmp.Diff(want, sys.Read(t, "/etc/fstab")); diff != "" {
		t.Error(diff)
	}
}

func TestSwapErrors(t *testing.T) {
	t.Parallel()
	sys := host(t)
	if _, _, err := tasktest.Run(t, sys, &Swap{State: "false"}); err == nil || !strings.Contains(err.Error(), "in quotes") {
		t.Errorf("error %v", err)
	}
	sys.Write(t, "/proc/swaps", "Filename\n/zram0 partition\n", 0o644)
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{"swapoff --all": {}})
	if _, _, err := tasktest.Run(t, sys, &Swap{State: "off"}); err == nil || !strings.Contains(err.Error(), "/zram0 is still in use") {
		t.Errorf("error %v", err)
	}
}
