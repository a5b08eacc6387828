package facts

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/strictyaml"
	"deployer/tasks/tasktest"
)

// gathered returns one set of facts as a playbook reads it.
func gathered[T any](t *testing.T, sys *tasktest.System, name string) T {
	t.Helper()
	change := tasktest.Check(t, sys, &Facts{Gather: strictyaml.Texts{name}})
	if change.Needed {
		t.Errorf("%s wants a change", name)
	}
	raw, err := json.Marshal(change.Output[name])
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFacts(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/os-release", "ID=debian\nPRETTY_NAME=Debian\n", 0o644)
	out := tasktest.Check(t, sys, &Facts{}).Output
	if out["os"] != "debian" || out["os_family"] != "debian" || out["mounts"] != nil {
		t.Errorf("facts %v", out)
	}
	_, _, err := tasktest.Run(t, sys, &Facts{Gather: strictyaml.Texts{"disks"}})
	if err == nil || !strings.Contains(err.Error(), `unknown set of facts "disks": want one of hardware, mounts, network, packages, reboot, services`) {
		t.Errorf("error %v", err)
	}
	if _, _, err := tasktest.Run(t, sys, &Facts{Gather: strictyaml.Texts{"packages"}}); err == nil || !strings.Contains(err.Error(), "gathering packages: this host has none") {
		t.Errorf("error %v", err)
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/resolv.conf", "# x\nnameserver 192.0.2.1\nnameserver 192.0.2.2\ndomain a\nsearch b.example c.example\noptions\n", 0o644)
	n := gathered[Network](t, sys, "network")
	if diff := cmp.Diff(DNS{Servers: []string{"192.0.2.1", "192.0.2.2"}, Search: []string{"b.example", "c.example"}}, n.DNS); diff != "" {
		t.Error(diff)
	}
	if lo, ok := n.Interfaces["lo"]; !ok || !lo.Loopback || lo.MTU == 0 {
		t.Errorf("the loopback interface is %+v", lo)
	}
}

func TestMounts(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/my data")
	sys.Write(t, "/proc/self/mounts", "proc /proc proc rw 0 0\n/dev/sda1 / ext4 rw,relatime 0 0\n/dev/sdb1 /my\\040data xfs ro 0 0\nnas:/x /gone nfs4 rw 0 0\ncut\n", 0o644)
	got := gathered[[]Mount](t, sys, "mounts")
	if len(got) != 3 || got[0].SizeBytes == 0 || got[0].FreeBytes > got[0].SizeBytes || got[1].SizeBytes == 0 || got[2].SizeBytes != 0 {
		t.Errorf("mounts %+v", got)
	}
	for i := range got {
		got[i].SizeBytes, got[i].FreeBytes, got[i].Inodes, got[i].InodesFree = 0, 0, 0, 0
	}
	want := []Mount{
		{Path: "/", Source: "/dev/sda1", Fstype: "ext4", Options: "rw,relatime"},
		{Path: "/my data", Source: "/dev/sdb1", Fstype: "xfs", Options: "ro"},
		{Path: "/gone", Source: "nas:/x", Fstype: "nfs4", Options: "rw"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPackages(t *testing.T) {
	t.Parallel()
	for program, answer := range map[string]tasktest.Answer{
		"/usr/bin/apt-get": {Stdout: "bash installed 5.2-1\nold config-files 1\nlinux installed 6.1-1\nlinux installed 6.1-2\n"},
		"/usr/bin/dnf":     {Stdout: "bash installed 5.2-1\nlinux installed 6.1-1\nlinux installed 6.1-2\n"},
	} {
		sys := tasktest.New(t)
		sys.Write(t, program, "", 0o755)
		sys.Exec = tasktest.Script(map[string]tasktest.Answer{"dpkg-query --show": answer, "rpm --query --all": answer})
		got := gathered[map[string]string](t, sys, "packages")
		if diff := cmp.Diff(map[string]string{"bash": "5.2-1", "linux": "6.1-1 6.1-2"}, got); diff != "" {
			t.Errorf("%s: %s", program, diff)
		}
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{
		"systemctl list-units": {Stdout: "ssh.service loaded active running OpenBSD Secure Shell server\n" +
			"bad.service loaded failed failed Bad\nnone.service not-found inactive dead none.service\nodd\n"},
		"systemctl list-unit-files": {Stdout: "ssh.service enabled enabled\nidle.service disabled enabled\nbad.service static -\n"},
	})
	want := map[string]Service{
		"ssh.service": {"active", "running", "enabled"}, "bad.service": {"failed", "failed", "static"}, "idle.service": {"inactive", "dead", "disabled"},
	}
	if diff := cmp.Diff(want, gathered[map[string]Service](t, sys, "services")); diff != "" {
		t.Error(diff)
	}
}

func TestHardware(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	for path, text := range map[string]string{
		"/sys/class/dmi/id/sys_vendor": "Dell Inc.\n", "/sys/class/dmi/id/product_name": "R640\n", "/sys/block/sda/size": "2048\n",
		"/sys/block/sda/queue/rotational": "1\n", "/sys/block/sda/device/model": "ST1000  \n", "/sys/block/loop0/size": "8\n",
		"/proc/cpuinfo": strings.Repeat("processor : 0\nmodel name\t: Xeon\nphysical id : 0\ncore id : 0\n\n", 2) +
			"processor : 2\nmodel name : Xeon\nphysical id : 1\ncore id : 0\n",
	} {
		sys.Write(t, path, text, 0o644)
	}
	want := Hardware{Vendor: "Dell Inc.", Product: "R640", CPUModel: "Xeon", Sockets: 2, Cores: 2, Threads: 3,
		Disks: map[string]Disk{"sda": {SizeBytes: 1 << 20, Rotational: true, Model: "ST1000"}}}
	if diff := cmp.Diff(want, gathered[Hardware](t, sys, "hardware")); diff != "" {
		t.Error(diff)
	}
	var arm Hardware
	arm.processors("processor : 0\nBogoMIPS : 50\n\nprocessor : 1\n")
	if arm.Sockets != 1 || arm.Cores != 2 || arm.Threads != 2 {
		t.Errorf("of a machine that does not number its cores: %+v", arm)
	}
}
