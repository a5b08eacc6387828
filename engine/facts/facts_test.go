package facts

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestReadOfAFullHost(t *testing.T) {
	root := tree(t, map[string]string{
		"/etc/os-release":                   "# comment\nID=rocky\nVERSION_ID=\"9.4\"\nID_LIKE='rhel centos fedora'\nNAME=Rocky\\ Linux\nPRETTY_NAME=\"Rocky Linux 9.4 (Blue Onyx)\"\nVERSION_CODENAME=blue\nodd line\n",
		"/etc/machine-id":                   "abc\n",
		"/proc/meminfo":                     "MemTotal:       2048 kB\nodd\nSwapTotal: x kB\nSwapTotal:      1024 kB\n",
		"/proc/sys/kernel/random/boot_id":   "boot\n",
		"/proc/1/comm":                      "runit\n",
		"/sys/fs/cgroup/cgroup.controllers": "cpu\n",
	})
	f := Read(root)
	if f.OS != "rocky" || f.OSVersion != "9.4" || f.MachineID != "abc" || f.BootID != "boot" || f.Init != "runit" || !f.CgroupV2 {
		t.Errorf("got %+v", f)
	}
	if diff := cmp.Diff([]string{"rhel", "centos", "fedora"}, f.OSLike); diff != "" {
		t.Error(diff)
	}
	if f.OSName != "Rocky Linux 9.4 (Blue Onyx)" || f.OSCodename != "blue" || f.OSFamily != "redhat" {
		t.Errorf("name %q, codename %q, family %q", f.OSName, f.OSCodename, f.OSFamily)
	}
	if f.MemoryBytes != 2<<20 || f.SwapBytes != 1<<20 {
		t.Errorf("memory %d, swap %d", f.MemoryBytes, f.SwapBytes)
	}
	if f.Arch != runtime.GOARCH || f.Kernel == "" || f.CPUs < 1 || f.Hostname == "" {
		t.Errorf("got %+v", f)
	}
	if d := time.Since(time.Unix(0, int64(f.UnixTime*1e9))); d < -time.Second || d > time.Minute {
		t.Errorf("clock is off by %v", d)
	}
}

func TestReadOfAnEmptyHostDoesNotFail(t *testing.T) {
	f := Read(t.TempDir())
	if f.OS != "" || f.MemoryBytes != 0 || f.Init != "" || f.DefaultIface != "" {
		t.Errorf("got %+v", f)
	}
}

func TestSystemdIsFoundByItsDirectory(t *testing.T) {
	f := Read(tree(t, map[string]string{"/run/systemd/system/x": "", "/proc/1/comm": "init\n"}))
	if f.Init != "systemd" {
		t.Errorf("got %q", f.Init)
	}
}

const route4 = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	0000A8C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
eth1	00000000	0100A8C0	0003	0	0	200	00000000	0	0	0
eth2	00000000	0100A8C0	0003	0	0	100	00000000	0	0	0
eth3	00000000	0100A8C0	0002	0	0	1	00000000	0	0	0
eth4	00000000	short
`

const route6 = `fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth5
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000200 00000001 00000000 00000003     eth6
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
`

func TestDefaultRoutes(t *testing.T) {
	for name, tt := range map[string]struct{ got, want string }{
		"lowest metric that is up": {defaultIPv4(route4), "eth2"},
		"IPv6, never lo":           {defaultIPv6(route6), "eth6"},
		"no table":                 {defaultIPv4("") + defaultIPv6(""), ""},
		"garbage":                  {defaultIPv4("a b c d e f g h") + defaultIPv6("0 00 0 0 0 zz 0 0 0 eth0"), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", name, tt.got, tt.want)
		}
	}
}

func FuzzParsers(f *testing.F) {
	f.Add(route4)
	f.Add(route6)
	f.Add("ID=\"x\\\"\nMemTotal: 1 kB")
	f.Fuzz(func(t *testing.T, text string) {
		parseRelease(text)
		defaultIPv4(text)
		defaultIPv6(text)
	})
}
