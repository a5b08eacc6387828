//go:build lab

package lab_test

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"deployer/test/lab/lab"
	"deployer/test/lab/netns"
	"deployer/test/lab/plan"
)

// child is the environment variable that makes the test program create a lab with the
// name that it has, as the process that a test kills.
const child = "DEPLOYER_LAB_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(child); name != "" {
		_, err := lab.Up(context.Background(), plan.Spec{Name: name, Minions: 1}, lab.Options{Tied: true})
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Stdout.WriteString("up\n")
		select {}
	}
	os.Exit(m.Run())
}

func up(t *testing.T, spec plan.Spec) *lab.Lab {
	t.Helper()
	l, err := lab.Up(t.Context(), spec, lab.Options{Tied: true, Report: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
		leavesNothing(t, l.Name)
	})
	return l
}

// leavesNothing checks that no part of a lab remains, with the tools of the machine
// and not with those of the lab.
func leavesNothing(t *testing.T, name string) {
	t.Helper()
	engine := "podman"
	if _, err := exec.LookPath(engine); err != nil {
		engine = "docker"
	}
	for _, argv := range [][]string{
		{engine, "ps", "--all", "--format={{.Names}}"},
		{engine, "volume", "ls", "--format={{.Name}}"},
		{"ip", "netns", "list"},
		{"sh", "-c", "ls -A /run/deployer-lab ~/.cache/deployer/lab 2>/dev/null || :"},
	} {
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		if err != nil {
			t.Errorf("%v: %v", argv, err)
		}
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSpace(line)
			if line == name || strings.HasPrefix(line, name+".") || strings.Contains(line+" ", plan.Prefix+name+" ") || strings.Contains(line, plan.Prefix+name+".") {
				t.Errorf("left behind by lab %s: %s (%s)", name, line, strings.Join(argv, " "))
			}
		}
	}
}

// shell runs a line on a host and fails the test when that fails.
func shell(t *testing.T, l *lab.Lab, host, line string) string {
	t.Helper()
	out, err := l.SSH(t.Context(), host, line)
	if err != nil {
		t.Fatalf("%s: %v", host, err)
	}
	return out
}

const ping = "ping -c1 -W1 "

func TestHosts(t *testing.T) {
	l := up(t, plan.Spec{Name: "selftest", Masters: 2, Minions: 1})
	t.Run("users", func(t *testing.T) { users(t, l) })
	t.Run("kubernetes can run there", func(t *testing.T) { fit(t, l) })
	t.Run("the machine is out of reach", func(t *testing.T) { confined(t, l) })
	t.Run("network", func(t *testing.T) { network(t, l) })
	t.Run("listening", func(t *testing.T) { listening(t, l) })
	t.Run("isolation", func(t *testing.T) { isolation(t, l) })
	t.Run("partition", func(t *testing.T) { partition(t, l) })
	t.Run("reboot", func(t *testing.T) { reboot(t, l) })
	t.Run("kill", func(t *testing.T) { kill(t, l) })
	t.Run("two labs", func(t *testing.T) { twoLabs(t, l) })
}

func users(t *testing.T, l *lab.Lab) {
	for login, line := range map[string]string{
		"root@m1": "test $(id -u) = 0",
		"ops@m1":  "test $(id -un) = ops && test $(sudo -n id -u) = 0",
		"pw@m1":   "! sudo -n true 2>/dev/null && test $(echo lab-password | sudo -S -p '' id -u) = 0",
	} {
		if _, err := l.Ctl(t.Context(), l.SSHArgs(login, line)...); err != nil {
			t.Errorf("%s: %v", login, err)
		}
	}
	if a, b := shell(t, l, "m1", "cat /etc/machine-id"), shell(t, l, "m2", "cat /etc/machine-id"); a == b || len(a) != 32 {
		t.Errorf("machine ids %q and %q", a, b)
	}
}

// fit checks that hosts meet the requirements of container runtimes and the kubelet.
func fit(t *testing.T, l *lab.Lab) {
	for _, line := range []string{
		"test -c /dev/kmsg",
		"findmnt -no PROPAGATION / | grep -q shared",
		"test $(cat /proc/sys/net/ipv4/ip_forward) = 0 && sysctl -qw net.ipv4.ip_forward=1",
		"d=/sys/fs/cgroup; test ! -d $d/memory || d=$d/memory; mkdir $d/kubepods && rmdir $d/kubepods",
		"cd /var/lib/containerd && mkdir l u w m && mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m && umount m && rmdir l u w/work w m",
		"! command -v runc containerd python3",
		"test -z \"$(find /dev -type b)\"",
		"test $(systemctl is-system-running) = running",
		"for f in hostname hosts resolv.conf; do cp /etc/$f /etc/$f.new && mv /etc/$f.new /etc/$f || exit; done",
		"! systemctl is-active --quiet nginx haproxy bird",
	} {
		shell(t, l, "n1", line)
	}
}

// confined checks that a host can change nothing that belongs to the machine: the clock, its
// modules, settings of the kernel that no namespace holds. Each line tries; the clock would
// be set to what it is, and the settings get their present values.
func confined(t *testing.T, l *lab.Lab) {
	for _, line := range []string{
		"! date --set=@$(date +%s) 2>/dev/null",
		"! sh -c 'cat /proc/sys/vm/swappiness >/proc/sys/vm/swappiness' 2>/dev/null",
		"! sysctl -qw kernel.pid_max=$(cat /proc/sys/kernel/pid_max) 2>/dev/null",
		"! sysctl -qw kernel.core_pattern=\"$(cat /proc/sys/kernel/core_pattern)\" 2>/dev/null",
		"! sysctl -qw fs.file-max=$(cat /proc/sys/fs/file-max) 2>/dev/null",
		"! sh -c 'echo h >/proc/sysrq-trigger' 2>/dev/null",
		"set -- $(grep CapBnd /proc/self/status); test $((0x$2 >> 16 & 1)) = 0 && test $((0x$2 >> 25 & 1)) = 0",
		"sysctl -qw vm.overcommit_memory=$(cat /proc/sys/vm/overcommit_memory) kernel.panic=$(cat /proc/sys/kernel/panic)",
		"sysctl -qw net.ipv4.conf.all.forwarding=$(cat /proc/sys/net/ipv4/conf/all/forwarding)",
	} {
		shell(t, l, "n1", line)
	}
}

func network(t *testing.T, l *lab.Lab) {
	for _, from := range l.Hosts {
		for _, to := range l.Hosts {
			shell(t, l, from.Name, ping+to.Address.String())
		}
	}
	if got := shell(t, l, "n1", "getent hosts m2.lab.test"); !strings.HasPrefix(got, "172.31.0.12 ") {
		t.Errorf("m2.lab.test is %q", got)
	}
	if out, err := l.SSH(t.Context(), "n1", "timeout 2 getent hosts example.com"); err == nil || strings.Contains(err.Error(), "124") {
		t.Errorf("a name outside must not resolve, and say so at once; got %q, %v", out, err)
	}
}

// listening checks that only the hosts reach a server in this process that listens in
// the lab.
func listening(t *testing.T, l *lab.Lab) {
	listener, err := l.Listen(plan.Controller().String() + ":5000")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("hello " + r.RemoteAddr)) })}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	if got := shell(t, l, "m2", "curl -sS --max-time 5 http://172.31.0.1:5000/"); !strings.HasPrefix(got, "hello 172.31.0.12:") {
		t.Errorf("m2 hears %q", got)
	}
	if out, err := exec.Command("ss", "-Hltn", "sport = :5000").Output(); err != nil || strings.Contains(string(out), "172.31") {
		t.Errorf("the machine itself listens there: %s %v", out, err)
	}
	if _, err := l.Listen("172.31.0.99:5000"); err == nil {
		t.Error("an address that the namespace does not have was listened on")
	}
}

// isolation checks that no traffic leaves a lab, and that the machine has no address
// in it.
func isolation(t *testing.T, l *lab.Lab) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err != nil || p.Overlaps(plan.Subnet()) {
			t.Errorf("the machine itself has %s (%v)", a, err)
		}
	}
	routes, err := l.Ctl(t.Context(), "ip", "route")
	if err != nil {
		t.Fatal(err)
	}
	if want := "172.31.0.0/24 dev lab0 proto kernel scope link src 172.31.0.1"; strings.TrimSpace(routes) != want {
		t.Errorf("routes of the controller:\n%s\nwant only\n%s", routes, want)
	}
}

func partition(t *testing.T, l *lab.Lab) {
	if err := l.Partition(t.Context(), "m2"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.SSH(t.Context(), "m1", ping+"172.31.0.12"); err == nil {
		t.Error("m1 still reaches m2")
	}
	if out, err := l.Exec(t.Context(), "m2", "ip", "-br", "address", "show", "eth0"); err != nil || !strings.Contains(out, "172.31.0.12/24") {
		t.Errorf("m2 lost its address: %q, %v", out, err)
	}
	if err := l.Heal(t.Context(), "m2"); err != nil {
		t.Fatal(err)
	}
	shell(t, l, "m1", "for i in 1 2 3 4 5; do "+ping+"172.31.0.12 && exit; done; exit 1")
}

// reboot checks that files survive a reboot, and that the boot id, the processes and
// the state of the network are new.
func reboot(t *testing.T, l *lab.Lab) {
	bootID := "cat /proc/sys/kernel/random/boot_id"
	before := shell(t, l, "m2", "echo kept > /root/file; echo gone > /run/file; iptables -A INPUT -p tcp --dport 9 -j DROP; ip route add 10.9.0.0/24 via 172.31.0.11; hostnamectl set-hostname other; "+bootID)
	if err := l.Reboot(t.Context(), "m2"); err != nil {
		t.Fatal(err)
	}
	if after := shell(t, l, "m2", bootID); after == before {
		t.Errorf("the boot id is still %s", after)
	}
	shell(t, l, "m2", "test $(cat /root/file) = kept && test ! -e /run/file && ! iptables -S | grep -q 9 && ! ip route | grep -q 10.9 && test $(hostname) = other")
	shell(t, l, "m1", ping+"172.31.0.12")
	shell(t, l, "m2", "test $(journalctl --list-boots --no-pager --quiet | grep -cv IDX) = 2")
}

func kill(t *testing.T, l *lab.Lab) {
	shell(t, l, "m2", "systemd-run --quiet --unit=busy sleep infinity")
	if err := l.Kill(t.Context(), "m2"); err != nil {
		t.Fatal(err)
	}
	if err := l.Kill(t.Context(), "m2"); err != nil {
		t.Errorf("killing it again: %v", err)
	}
	if _, err := l.SSH(t.Context(), "m1", ping+"172.31.0.12"); err == nil {
		t.Error("m1 still reaches m2")
	}
	if err := l.Partition(t.Context(), "m2"); err == nil || !strings.Contains(err.Error(), "start it first") {
		t.Errorf("partition of a dead host: %v", err)
	}
	all, err := lab.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == l.Name && s.Hosts[1].Condition != lab.HostDown {
			t.Errorf("m2 is listed as %s", s.Hosts[1].Condition)
		}
	}
	if err := l.Start(t.Context(), "m2"); err != nil {
		t.Fatal(err)
	}
	shell(t, l, "m2", "! systemctl is-active --quiet busy")
}

// twoLabs checks that two labs with the same addresses do not reach each other.
func twoLabs(t *testing.T, first *lab.Lab) {
	if _, err := lab.Up(t.Context(), plan.Spec{Name: first.Name, Masters: 1}, lab.Options{}); err == nil || !strings.Contains(err.Error(), "up already") {
		t.Errorf("the same name again: %v", err)
	}
	second := up(t, plan.Spec{Name: "selftest-2", Masters: 1})
	shell(t, first, "m1", "echo first > /root/lab")
	shell(t, second, "m1", "echo second > /root/lab")
	if got := shell(t, first, "m1", "cat /root/lab"); got != "first" {
		t.Errorf("m1 of the first lab is the %s lab's", got)
	}
	if _, err := second.SSH(t.Context(), "m1", ping+"172.31.0.12"); err == nil {
		t.Error("the second lab reaches a host that only the first has")
	}
	opened, err := lab.Open(t.Context(), second.Name)
	if err != nil {
		t.Fatal(err)
	}
	if got := shell(t, opened, "m1", "cat /root/lab"); got != "second" {
		t.Errorf("the opened lab's m1 says %s", got)
	}
}

// TestSweepRemovesWhatAKilledProcessLeft: Sweep removes the labs of killed processes,
// complete or not, and keeps labs whose process runs.
func TestSweepRemovesWhatAKilledProcessLeft(t *testing.T) {
	bystander := up(t, plan.Spec{Name: "selftest-bystander", Minions: 1})
	for name, whole := range map[string]bool{"selftest-whole": true, "selftest-half": false} {
		t.Run(name, func(t *testing.T) {
			kill := start(t, name, whole)
			kill()
			gone, err := lab.Sweep(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(gone, " "), name) {
				t.Errorf("swept %q, not %s", gone, name)
			}
			leavesNothing(t, name)
			shell(t, bystander, "n1", "true")
		})
	}
}

// start runs this program as a child that creates a lab. It returns when the lab is
// up or, with whole false, while it is being created. The returned function kills the
// child.
func start(t *testing.T, name string, whole bool) (kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), child+"="+name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if whole {
		said := make([]byte, 300)
		if n, err := out.Read(said); err != nil || string(said[:n]) != "up\n" {
			t.Fatalf("the child said %q, %v", said[:n], err)
		}
	} else {
		for end := time.Now().Add(time.Minute); !netns.Exists(plan.HostResource(name, "n1")); {
			if time.Now().After(end) {
				t.Fatal("the child makes no host")
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
}
