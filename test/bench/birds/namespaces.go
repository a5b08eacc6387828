package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// prefix is the beginning of the names of the benchmark's namespaces and directories; its process id follows.
const prefix = "bench-birds-"

// network is a bridge in a namespace of its own, and a namespace for each node.
type network struct {
	hub   string
	nodes []string // namespaces in the order of the nodes
}

// ip runs commands of ip(8), one a line, in a namespace; empty for that of the machine.
func ip(ctx context.Context, namespace string, lines ...string) error {
	args := []string{"-batch", "-"}
	if namespace != "" {
		args = append([]string{"-n", namespace}, args...)
	}
	cmd := exec.CommandContext(ctx, "ip", args...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip in namespace %q: %w\n%s", namespace, err, out)
	}
	return nil
}

// newNetwork returns a network of n nodes. No route leads out of it.
func newNetwork(ctx context.Context, n int) (_ *network, err error) {
	net := &network{hub: ownPrefix() + "hub"}
	defer func() {
		if err != nil {
			err = errors.Join(err, net.remove())
		}
	}()
	add := []string{"netns add " + net.hub}
	links := []string{"link add br0 type bridge", "link set br0 up"}
	for i := range n {
		ns := ownPrefix() + strconv.Itoa(i)
		net.nodes = append(net.nodes, ns)
		add = append(add, "netns add "+ns)
		links = append(links,
			fmt.Sprintf("link add v%d type veth peer name eth0 address %s netns %s", i, mac(i), ns),
			fmt.Sprintf("link set v%d master br0 up", i))
	}
	if err := ip(ctx, "", add...); err != nil {
		return net, err
	}
	if err := ip(ctx, net.hub, links...); err != nil {
		return net, err
	}
	for i, ns := range net.nodes {
		if err := ip(ctx, ns, "link set lo up", fmt.Sprintf("address add %s/16 dev eth0", address(i)), "link set eth0 up"); err != nil {
			return net, err
		}
	}
	return net, nil
}

// introduce gives a node the link addresses of others for ever. The kernel has one table of neighbours for
// all namespaces, in which 1024 temporary entries have room (arp(7), gc_thresh3); permanent ones do not count.
func (n *network) introduce(ctx context.Context, node int, others []int) error {
	var lines []string
	for _, o := range others {
		lines = append(lines, fmt.Sprintf("neigh replace %s lladdr %s dev eth0 nud permanent", address(o), mac(o)))
	}
	return ip(ctx, n.nodes[node], lines...)
}

// mac returns the link address of a node.
func mac(i int) string { return fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8, i&0xff) }

// remove removes the namespaces, with all interfaces. Their processes must have ended.
func (n *network) remove() error {
	lines := []string{}
	for _, ns := range append(n.nodes, n.hub) {
		if _, err := os.Stat(filepath.Join(namespaceDir, ns)); err == nil {
			lines = append(lines, "netns delete "+ns)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // also after an interrupt
	defer cancel()
	return ip(ctx, "", lines...)
}

// namespaceDir has a file for each namespace with a name (ip-netns(8)).
const namespaceDir = "/run/netns"

// removeStale removes what benchmarks that do not run any more have left: processes in their namespaces,
// these, and directories.
func removeStale(ctx context.Context) error {
	for _, file := range stale(namespaceDir) {
		ns := filepath.Base(file)
		out, err := exec.CommandContext(ctx, "ip", "netns", "pids", ns).Output()
		if err != nil {
			return fmt.Errorf("processes of namespace %s: %w", ns, err)
		}
		for _, text := range strings.Fields(string(out)) {
			if left, err := strconv.Atoi(text); err == nil {
				_ = unix.Kill(left, unix.SIGKILL)
			}
		}
		if err := ip(ctx, "", "netns delete "+ns); err != nil {
			return err
		}
	}
	for _, dir := range stale(os.TempDir()) {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// stale returns the entries of a directory that belong to benchmarks that do not run any more.
func stale(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	return slices.DeleteFunc(files, func(file string) bool {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(file), prefix), "-")
		pid, err := strconv.Atoi(owner)
		return err != nil || unix.Kill(pid, 0) == nil
	})
}

// ownPrefix is the beginning of the names of this process.
func ownPrefix() string { return prefix + strconv.Itoa(os.Getpid()) + "-" }
