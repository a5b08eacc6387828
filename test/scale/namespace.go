package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideVariable is set in the environment of the process in the benchmark's own namespaces.
const insideVariable = "DEPLOYER_SCALE_INSIDE"

func insideNamespace() bool { return os.Getenv(insideVariable) != "" }

// runInNamespace runs this program again with the same arguments in namespaces of its own: a network that has
// loopback only, and processes that end with it, however it ends. A cancelled ctx interrupts it.
func runInNamespace(ctx context.Context) error {
	// The signal of a parent's death is that of the thread that started the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
		Pdeathsig:  syscall.SIGKILL, Setpgid: true,
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	if errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("creating namespaces: %w; run the benchmark as root", err)
	}
	return err
}

// ownProc mounts the /proc of the process namespace, for this program and its children only.
func ownProc() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	return mountProc("/proc")
}

// mountProc mounts the /proc of the process namespace at a directory, which it creates.
func mountProc(dir string) error {
	if err := os.MkdirAll(dir, 0o555); err != nil {
		return err
	}
	if err := unix.Mount("proc", dir, "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", dir, err)
	}
	return nil
}

// network is a bridge in the namespace of the benchmark, and a namespace for each master. They have no names,
// and end with the processes in them.
type network struct {
	holders []*exec.Cmd // programs that do nothing, in the namespaces of the masters
}

// Masters and proxies are neighbours; masters reach the hosts of nodes through the benchmark, which has all of their
// addresses and refuses connections, as hosts without a kubelet do. nearHosts has the addresses of masters and proxies,
// nodeNetworks those of nodes, allHosts both (see address).
const (
	nearHosts = "10.99.0.8/29"
	allHosts  = "10.99.0.0/16"
)

var nodeNetworks = []string{"10.99.0.16/28", "10.99.0.32/27", "10.99.0.64/26", "10.99.0.128/25", "10.99.1.0/24", "10.99.2.0/23"}

// nodeAddress returns the address of a node by its index.
func nodeAddress(i int) string { return address(masterCount + len(proxyNames) + i) }

// dropRoute makes the host with an address silent: what is sent to it gets lost, without an answer.
func dropRoute(ctx context.Context, address string) error {
	return ip(ctx, nil, "route add blackhole "+address+"/32 table local")
}

// newNetwork connects n masters with the benchmark, whose own addresses are those of the API proxies.
func newNetwork(ctx context.Context, n int) (net *network, err error) {
	net = &network{}
	defer func() {
		if err != nil {
			net.remove()
		}
	}()
	// Thousands of connections are opened and closed: all ports are for clients.
	for name, value := range map[string]string{"ipv4/ip_local_port_range": "11000 65000", "core/somaxconn": "8192"} {
		if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0o644); err != nil {
			return net, err
		}
	}
	lines := []string{"link set lo up", "link add br0 type bridge", "address add " + address(n) + "/32 dev br0", "address add " + address(n+1) + "/32 dev br0", "link set br0 up", "route add " + nearHosts + " dev br0"}
	for _, hosts := range nodeNetworks {
		lines = append(lines, "route add local "+hosts+" dev lo")
	}
	if err := ip(ctx, nil, lines...); err != nil {
		return net, err
	}
	for i := range n {
		holder := exec.Command("sleep", "infinity")
		holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setpgid: true}
		if err := holder.Start(); err != nil {
			return net, err
		}
		net.holders = append(net.holders, holder)
		if err := ip(ctx, nil, fmt.Sprintf("link add v%d type veth peer name eth0 netns %d", i, holder.Process.Pid), fmt.Sprintf("link set v%d master br0 up", i)); err != nil {
			return net, err
		}
		if err := ip(ctx, net.enter(i), "link set lo up", "address add "+address(i)+"/32 dev eth0", "link set eth0 up", "route add "+nearHosts+" dev eth0", "route add "+allHosts+" via "+address(n)); err != nil {
			return net, err
		}
	}
	return net, nil
}

// enter returns the beginning of a command that runs in the namespace of a master.
func (n *network) enter(master int) []string {
	return []string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", n.holders[master].Process.Pid)}
}

func (n *network) remove() {
	for _, h := range n.holders {
		_ = h.Process.Kill()
		_ = h.Wait()
	}
}

// ip runs commands of ip(8), one a line, behind the beginning of a command; nil: in the namespace of the benchmark.
func ip(ctx context.Context, enter []string, lines ...string) error {
	args := append(slices.Clone(enter), "ip", "-batch", "-")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
