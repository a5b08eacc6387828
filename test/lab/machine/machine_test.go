package machine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadCgroups(t *testing.T) {
	for _, c := range []struct {
		name, mountinfo string
		want            Cgroups
	}{
		{"v2 only", "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n35 24 0:29 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n", CgroupsV2},
		{"v1 only", "35 24 0:29 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n36 35 0:30 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n", CgroupsV1},
		{"side by side", "36 35 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n37 35 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", CgroupsHybrid},
		{"v1 of a container elsewhere", "35 24 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n90 24 0:30 / /srv/root/sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", CgroupsV2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ReadCgroups(c.mountinfo); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestBoundingSet(t *testing.T) {
	if got := boundingSet("CapEff:\tff\nCapBnd:\t000001fffeffffff\n"); got != 0x1fffeffffff {
		t.Errorf("got %x", got)
	}
	if got := boundingSet("Name:\tlab\n"); got != 0 {
		t.Errorf("without the line: got %x, want no capability", got)
	}
}

func full() Machine {
	return Machine{
		Root: true, Cgroups: CgroupsV2, Systemd: true, SysResource: true,
		HardFiles: 1 << 20, HardProcs: 1 << 20,
		Programs: map[string]bool{"podman": true, "runc": true, "mmdebstrap": true, "ip": true, "nsenter": true, "ssh": true, "ssh-keygen": true},
	}
}

func TestEngineFlagsFollowTheCgroups(t *testing.T) {
	for _, c := range []struct {
		name    string
		cgroups Cgroups
		systemd bool
		engine  Engine
		want    []string
	}{
		{"podman's defaults do", CgroupsV2, true, Podman, nil},
		{"v2 without systemd", CgroupsV2, false, Podman, []string{"--cgroup-manager=cgroupfs"}},
		{"v1", CgroupsV1, true, Podman, []string{"--runtime=runc", "--cgroup-manager=cgroupfs"}},
		{"both", CgroupsHybrid, false, Podman, []string{"--runtime=runc", "--cgroup-manager=cgroupfs"}},
		{"docker's daemon has its own", CgroupsHybrid, false, Docker, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := full()
			m.Cgroups, m.Systemd = c.cgroups, c.systemd
			if d := cmp.Diff(c.want, m.EngineFlags(c.engine)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLimitsStayUnderWhatTheMachineGrants(t *testing.T) {
	m := full()
	m.HardFiles, m.HardProcs = 20000, 4096
	for _, c := range []struct {
		raise       bool
		files, proc string
	}{
		{true, "--ulimit=nofile=1048576:1048576", "--ulimit=nproc=32768:32768"},
		{false, "--ulimit=nofile=20000:20000", "--ulimit=nproc=4096:4096"},
	} {
		m.SysResource = c.raise
		flags := m.HostFlags(Podman)
		if !slices.Contains(flags, c.files) || !slices.Contains(flags, c.proc) {
			t.Errorf("CAP_SYS_RESOURCE %v: got %v, want %s and %s", c.raise, flags, c.files, c.proc)
		}
	}
}

func TestHostFlagsKeepHostsApart(t *testing.T) {
	for _, e := range []Engine{Podman, Docker} {
		flags := full().HostFlags(e)
		for _, want := range []string{"--privileged", "--cgroupns=private", "--env=container=" + string(e), "--stop-signal=SIGRTMIN+3"} {
			if !slices.Contains(flags, want) {
				t.Errorf("%s: no %s in %v", e, want, flags)
			}
		}
		if podmanOnly := slices.Contains(flags, "--systemd=false"); podmanOnly != (e == Podman) {
			t.Errorf("%s: --systemd=false is %v in %v", e, podmanOnly, flags)
		}
	}
}

func TestChoose(t *testing.T) {
	without := func(programs ...string) func(*Machine) {
		return func(m *Machine) {
			for _, p := range programs {
				m.Programs[p] = false
			}
		}
	}
	docker := func(m *Machine) {
		without("podman", "runc")(m)
		m.Programs["docker"], m.Docker = true, "28.5.2"
	}
	for _, c := range []struct {
		name   string
		change func(*Machine)
		want   Engine
		err    string
	}{
		{"all there", func(*Machine) {}, Podman, ""},
		{"podman before docker", func(m *Machine) { m.Programs["docker"], m.Docker = true, "28.5.2" }, Podman, ""},
		{"docker alone", docker, Docker, ""},
		{"docker without a daemon", func(m *Machine) { docker(m); m.Docker = "" }, "", "apt-get install podman"},
		{"docker that takes what the machine has", func(m *Machine) { docker(m); m.SysResource = false }, Docker, ""},
		{"docker of one's own", func(m *Machine) { docker(m); m.SysResource, m.Docker = false, "library-import" }, Docker, ""},
		{"docker that asks for more", func(m *Machine) { docker(m); m.SysResource, m.Docker = false, "20.10.24+dfsg1" }, "", "apt-get install podman runc"},
		{"no runc needed on v2", without("runc"), Podman, ""},
		{"runc needed on v1", func(m *Machine) { without("runc")(m); m.Cgroups = CgroupsV1 }, "", "apt-get install runc"},
		{"all that is missing, once", without("podman", "ip", "ssh", "ssh-keygen"), "", "apt-get install podman iproute2 openssh-client"},
		{"not root", func(m *Machine) { m.Root = false }, "", "sudo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := full()
			c.change(&m)
			got, err := m.Choose()
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			switch {
			case c.err == "" && err != nil:
				t.Errorf("got error %v", err)
			case c.err != "" && (err == nil || !strings.HasSuffix(err.Error(), c.err)):
				t.Errorf("got error %v, want one that ends in %q", err, c.err)
			}
		})
	}
}
