package hostcheck

import (
	"net"
	"os"
	"strings"
	"testing"

	"deployer/tasks/receipt"
	"deployer/tasks/tasktest"
)

func host(t *testing.T) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/run/systemd/system")
	sys.Write(t, "/proc/sys/kernel/hostname", "m1\n", 0o644)
	sys.Write(t, "/proc/sys/kernel/osrelease", "6.1.0\n", 0o644)
	return sys
}

// tcpTable has a listener on 6443 (hex 192B) with inode 77 and a connection to
// that port with inode 78.
const tcpTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1 0 100 0 0 10 0
   1: 0100007F:192B 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 78 1 0 100 0 0 10 0
   2: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 79 1 0 100 0 0 10 0
`

func process(t *testing.T, sys *tasktest.System, pid, comm, inode string) {
	t.Helper()
	sys.Write(t, "/proc/"+pid+"/comm", comm+"\n", 0o644)
	sys.Mkdir(t, "/proc/"+pid+"/fd")
	if err := os.Symlink("socket:["+inode+"]", sys.Path("/proc/"+pid+"/fd/3")); err != nil {
		t.Fatal(err)
	}
}

// fibTrie has 127.0.0.1 and 10.0.0.5, and a route to 10.0.0.9.
const fibTrie = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.0.0.9
        /32 link UNICAST
Local:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.0.0.5
        /32 host LOCAL
     |-- 10.0.0.255
        /32 link BROADCAST
        |-- 127.0.0.1
           /32 host LOCAL
`

func TestRequirements(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(t *testing.T, sys *tasktest.System)
		want    Requirement
		ok      bool
		detail  string
	}{
		"address": {func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/proc/net/fib_trie", fibTrie, 0o644) }, Requirement{Kind: "address", Address: "10.0.0.5"}, true, "on an interface"},
		"address of another host": {func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/proc/net/fib_trie", fibTrie, 0o644) },
			Requirement{Kind: "address", Address: "10.0.0.9", Why: "the other hosts reach it there"}, false, "no interface of the host has the address; they have 10.0.0.5; the other hosts"},
		"IPv6 address": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/proc/net/if_inet6", "fd000000000000000000000000000005 02 40 00 80     eth0\n", 0o644)
		}, Requirement{Kind: "address", Address: "fd00::5"}, true, "on an interface"},
		"IPv6 address of another host": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/proc/net/if_inet6", "fd000000000000000000000000000005 02 40 00 80     eth0\n", 0o644)
		}, Requirement{Kind: "address", Address: "fd00::6"}, false, "they have fd00::5"},
		"free port":      {nil, Requirement{Kind: "port", Port: 6443}, true, "free"},
		"connected port": {func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/proc/net/tcp", tcpTable, 0o644) }, Requirement{Kind: "port", Port: 8080}, true, "free"},
		"port of another program": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/proc/net/tcp6", tcpTable, 0o644)
			process(t, sys, "12", "haproxy", "77")
		}, Requirement{Kind: "port", Port: 6443, Owners: []string{"kube-apiserver"}, Why: "the API server listens there"}, false, "taken by haproxy (pid 12); the API server listens there"},
		"port of our own program, its name truncated by the kernel": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/proc/net/tcp", tcpTable, 0o644)
			process(t, sys, "12", "kube-controller", "77")
		}, Requirement{Kind: "port", Port: 6443, Owners: []string{"kube-controller-manager"}}, true, "held by kube-controller (pid 12)"},
		"port of a program that will be stopped": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/proc/net/tcp", tcpTable, 0o644)
			process(t, sys, "12", "haproxy", "77")
			sys.Write(t, "/manifest", "", 0o600)
		}, Requirement{Kind: "port", Port: 6443, Path: "/manifest", Owners: []string{"kube-apiserver"}, Former: []string{"haproxy"}}, true, "held by haproxy (pid 12)"},
		"port of another haproxy": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/proc/net/tcp", tcpTable, 0o644)
			process(t, sys, "12", "haproxy", "77")
		}, Requirement{Kind: "port", Port: 6443, Path: "/manifest", Owners: []string{"kube-apiserver"}, Former: []string{"haproxy"}}, false, "taken by haproxy (pid 12)"},
		"port of a hidden process": {func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/proc/net/tcp", tcpTable, 0o644) }, Requirement{Kind: "port", Port: 6443}, false, "cannot be seen"},
		"disk":                     {nil, Requirement{Kind: "disk", Path: "/var/lib/none/yet", MinMiB: 1}, true, "MiB free"},
		"small disk":               {nil, Requirement{Kind: "disk", Path: "/", MinMiB: 1 << 40}, false, "are needed"},
		"disk by share":            {nil, Requirement{Kind: "disk", Path: "/", MinPercent: 0.001}, true, "MiB free"},
		"full disk":                {nil, Requirement{Kind: "disk", Path: "/", MinPercent: 101}, false, "101 % are needed"},
		"memory":                   {func(t *testing.T, sys *tasktest.System) { meminfoFile(t, sys) }, Requirement{Kind: "memory", MinMiB: 2000}, true, "2000 MiB"},
		"little memory":            {func(t *testing.T, sys *tasktest.System) { meminfoFile(t, sys) }, Requirement{Kind: "memory", MinMiB: 2001}, false, "2000 MiB, 2001 are needed"},
		"processors": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/proc/stat", "cpu  1\ncpu0 1\ncpu1 1\nintr 1\n", 0o644)
		}, Requirement{Kind: "cpu", MinCount: 2}, true, "2"},
		"few processors": {func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/proc/stat", "cpu  1\ncpu0 1\n", 0o644) }, Requirement{Kind: "cpu", MinCount: 2}, false, "1, 2 are needed"},
		"no swap":        {nil, Requirement{Kind: "swap"}, true, "off"},
		"swap":           {func(t *testing.T, sys *tasktest.System) { swaps(t, sys) }, Requirement{Kind: "swap"}, true, "it is turned off on the way"},
		"swap of a container": {func(t *testing.T, sys *tasktest.System) {
			swaps(t, sys)
			sys.Write(t, "/run/systemd/container", "podman\n", 0o644)
		}, Requirement{Kind: "swap"}, false, "a podman container cannot turn it off"},
		"kernel feature": {func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/proc/filesystems", "nodev overlay\n", 0o644) }, Requirement{Kind: "kernel", Name: "overlay"}, true, "in the kernel"},
		"loadable feature": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/lib/modules/6.1.0/modules.dep", "x/overlay.ko:\n", 0o644)
		}, Requirement{Kind: "kernel", Name: "overlay"}, true, "can be loaded"},
		"missing feature":                  {nil, Requirement{Kind: "kernel", Name: "overlay"}, false, "neither has overlay"},
		"iptables in a package to install": {nil, Requirement{Kind: "kernel", Name: "iptables"}, true, "not installed yet"},
		"iptables":                         {func(t *testing.T, sys *tasktest.System) { filterProgram(t, sys, "iptables", 0) }, Requirement{Kind: "kernel", Name: "iptables"}, true, "usable"},
		"nftables that refuses":            {func(t *testing.T, sys *tasktest.System) { filterProgram(t, sys, "nft", 1) }, Requirement{Kind: "kernel", Name: "nftables"}, false, "Operation not supported"},
		"cgroup v2": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n", 0o644)
		}, Requirement{Kind: "cgroup"}, true, "version 2"},
		"cgroup v2 without a controller": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/sys/fs/cgroup/cgroup.controllers", "cpu pids\n", 0o644)
		}, Requirement{Kind: "cgroup"}, false, "without the controller memory"},
		"cgroup v1 where it is not enough": {func(t *testing.T, sys *tasktest.System) {
			sys.Mkdir(t, "/sys/fs/cgroup/cpu")
			sys.Mkdir(t, "/sys/fs/cgroup/memory")
			sys.Mkdir(t, "/sys/fs/cgroup/pids")
		}, Requirement{Kind: "cgroup", MinVersion: 2, Why: "x"}, false, "version 1, and version 2 is needed"},
		"cgroup v1": {func(t *testing.T, sys *tasktest.System) {
			sys.Mkdir(t, "/sys/fs/cgroup/cpu")
			sys.Mkdir(t, "/sys/fs/cgroup/memory")
			sys.Mkdir(t, "/sys/fs/cgroup/pids")
		}, Requirement{Kind: "cgroup"}, true, "version 1"},
		"no cgroup":            {nil, Requirement{Kind: "cgroup"}, false, "no cgroup controller"},
		"program":              {func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/usr/sbin/conntrack", "", 0o755) }, Requirement{Kind: "program", Name: "conntrack"}, true, "/usr/sbin/conntrack"},
		"no program":           {nil, Requirement{Kind: "program", Name: "conntrack"}, false, "not installed"},
		"fresh host":           {nil, Requirement{Kind: "foreign", Path: "/var/lib/kubelet"}, true, "nothing there"},
		"empty directory":      {func(t *testing.T, sys *tasktest.System) { sys.Mkdir(t, "/var/lib/kubelet") }, Requirement{Kind: "foreign", Path: "/var/lib/kubelet"}, true, "empty"},
		"another installation": {func(t *testing.T, sys *tasktest.System) { sys.Write(t, "/var/lib/kubelet/x", "", 0o644) }, Requirement{Kind: "foreign", Path: "/var/lib/kubelet"}, false, "deployer did not put it there"},
		"own installation": {func(t *testing.T, sys *tasktest.System) {
			sys.Write(t, "/var/lib/kubelet/x", "", 0o644)
			if err := receipt.Claim(sys); err != nil {
				t.Fatal(err)
			}
		}, Requirement{Kind: "foreign", Path: "/var/lib/kubelet"}, true, "installed by deployer"},
		"unknown kind": {nil, Requirement{Kind: "luck"}, false, "knows no requirement"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := host(t)
			if tt.prepare != nil {
				tt.prepare(t, sys)
			}
			change := tasktest.Check(t, sys, &Checks{Requirements: []Requirement{tt.want}})
			rows := change.Output["checks"].([]any)
			row := rows[len(rows)-1].(map[string]any)
			if row["ok"] != tt.ok || !strings.Contains(row["detail"].(string), tt.detail) {
				t.Errorf("row %v, want ok %t and %q", row, tt.ok, tt.detail)
			}
			if !tt.ok && row["fix"] == "" {
				t.Error("a problem without what to do about it")
			}
			if problems := len(change.Output["problems"].([]any)); (problems == 0) != tt.ok {
				t.Errorf("%d problems", problems)
			}
		})
	}
}

func meminfoFile(t *testing.T, sys *tasktest.System) {
	sys.Write(t, "/proc/meminfo", "MemFree: 1 kB\nMemTotal:        2048000 kB\n", 0o644)
}

func swaps(t *testing.T, sys *tasktest.System) {
	sys.Write(t, "/proc/swaps", "Filename Type\n/dev/sda2 partition\n", 0o644)
}

func filterProgram(t *testing.T, sys *tasktest.System, name string, exit int) {
	sys.Write(t, "/usr/sbin/"+name, "", 0o755)
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{name: {Exit: exit, Stderr: "Operation not supported"}})
}

func TestHostsWithoutSystemdOrName(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/proc/sys/kernel/hostname", "localhost\n", 0o644)
	if got := len(tasktest.Check(t, sys, &Checks{}).Output["problems"].([]any)); got != 2 {
		t.Errorf("%d problems, want 2", got)
	}
}

// TestRealListener reads the running kernel's own tables.
func TestRealListener(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sys := tasktest.New(t)
	sys.Root = "/"
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	r := Requirement{Kind: "port", Port: l.Addr().(*net.TCPAddr).Port, Owners: []string{strings.TrimSpace(string(comm))}}
	if row := r.port(&sockets{sys: sys}); !row.OK || !strings.Contains(row.Detail, "held by") {
		t.Errorf("row %+v", row)
	}
}

// TestNewSocket checks that a listener is found although its process started after
// the holders of sockets were listed.
func TestNewSocket(t *testing.T) {
	t.Parallel()
	sys := host(t)
	s := &sockets{sys: sys, holders: map[string][]string{"5": {"sshd (pid 1)"}}}
	sys.Write(t, "/proc/net/tcp", tcpTable, 0o644)
	process(t, sys, "12", "kube-apiserver", "77")
	got := Requirement{Kind: "port", Port: 6443, Owners: []string{"kube-apiserver"}}.port(s)
	if !got.OK || !strings.Contains(got.Detail, "held by kube-apiserver (pid 12)") {
		t.Errorf("the port is %+v, want one that is held by kube-apiserver", got)
	}
}
