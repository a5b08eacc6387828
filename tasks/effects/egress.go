package effects

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"deployer/engine"
	"deployer/tasks/podnet"
	"deployer/tasks/staticpod"
)

// maxPods is the maximum number of pods from which an address is tried: one alone may have a
// network policy or a proxy of its own.
const maxPods = 3

// Egress is the way of the host's pods to addresses outside of the cluster's pod range, as it was
// tried from the network namespaces of pods.
type Egress struct {
	// Pods are those from which it was tried, as NAMESPACE/NAME; empty when the host has no pod
	// with a network of its own.
	Pods []string
	// Reached are the addresses that a pod has reached.
	Reached []string
	// Unreached are the addresses that the host reaches, and none of the pods.
	Unreached []string
	// Unmasqueraded is an address that sees the address of the pod instead of the node's; empty
	// for none.
	Unmasqueraded string
	// Obstacles may be the causes; looked for only when something is unreached.
	Obstacles []Obstacle
}

// attempt is the result of an attempt to reach a target.
type attempt struct {
	conn net.Conn // nil when err is not
	err  error
}

// lacksFamily reports whether the pod has no address of the target's family, as one that has started before
// its cluster got the second family.
func (a attempt) lacksFamily() bool { return errors.Is(a.err, syscall.ENETUNREACH) }

// observeEgress tries to reach addresses outside of the cluster from pods of the host, and in
// parallel from the host itself, whose failures are no fault of the way of its pods. It is nil
// when nothing is known to be tried.
func (c *Checks) observeEgress(ctx context.Context, sys engine.System, servers []string) *Egress {
	targets := c.targets(servers)
	if len(targets) == 0 {
		return nil
	}
	pods, err := staticpod.PodNetworks(ctx, sys, maxPods)
	if err != nil {
		return nil // the unit of containerd has a row
	}
	found := &Egress{}
	if len(pods) == 0 {
		return found
	}
	var fromHost, fromPod []attempt
	var both sync.WaitGroup
	both.Go(func() { fromHost = reach(ctx, targets, "") })
	both.Go(func() { fromPod = reach(ctx, targets, pods[0].Path) })
	both.Wait()
	closeAll(fromHost)
	defer func() { closeAll(fromPod) }()
	found.add(pods[0])
	var open []openTarget
	for i, t := range targets {
		switch {
		case fromPod[i].err == nil:
			found.Reached = append(found.Reached, t.String())
			if !t.DNS && found.Unmasqueraded == "" && c.Rules && !isMasqueraded(ctx, sys, fromPod[i].conn) {
				found.Unmasqueraded = t.String()
			}
		case fromHost[i].err == nil:
			open = append(open, openTarget{t, c.isTried(fromPod[i])})
		}
	}
	found.tryOthers(ctx, open, pods[1:], c.isTried)
	if len(found.Unreached) > 0 {
		// A pod that ends meanwhile loses its network first.
		still, err := staticpod.PodNetworks(ctx, sys, maxPods)
		if err != nil {
			return nil
		}
		found.forget(still)
	}
	if ctx.Err() == nil && len(found.Unreached) > 0 {
		found.Obstacles = obstacles(ctx, sys, c.PodRange)
	}
	return found
}

func (e *Egress) add(p staticpod.PodNetwork) { e.Pods = append(e.Pods, p.Namespace+"/"+p.Name) }

// forget forgets the attempts of pods that do not run any more. Without a pod that has tried, nothing
// is known to be unreached.
func (e *Egress) forget(still []staticpod.PodNetwork) {
	e.Pods = slices.DeleteFunc(e.Pods, func(pod string) bool {
		return !slices.ContainsFunc(still, func(p staticpod.PodNetwork) bool { return p.Namespace+"/"+p.Name == pod })
	})
	if len(e.Pods) == 0 {
		*e = Egress{}
	}
}

// openTarget is a target that no pod has reached yet.
type openTarget struct {
	podnet.Target
	tried bool // a pod with an address of its family has tried
}

// isTried reports whether a pod has sent something: with two families, a pod may have an address of one.
func (c *Checks) isTried(a attempt) bool { return len(c.families()) < 2 || !a.lacksFamily() }

// tryOthers tries the targets that one pod has not reached from other pods.
func (e *Egress) tryOthers(ctx context.Context, open []openTarget, pods []staticpod.PodNetwork, isTried func(attempt) bool) {
	for _, pod := range pods {
		if len(open) == 0 {
			return
		}
		e.add(pod)
		var targets []podnet.Target
		for _, t := range open {
			targets = append(targets, t.Target)
		}
		attempts := reach(ctx, targets, pod.Path)
		closeAll(attempts)
		var left []openTarget
		for i, t := range open {
			if attempts[i].err != nil {
				t.tried = t.tried || isTried(attempts[i])
				left = append(left, t)
				continue
			}
			e.Reached = append(e.Reached, t.String())
		}
		open = left
	}
	for _, t := range open {
		if t.tried {
			e.Unreached = append(e.Unreached, t.String())
		}
	}
}

// targets returns the servers of the arguments, and the name servers that another machine has, of
// the families of the pods.
func (c *Checks) targets(servers []string) []podnet.Target {
	var out []podnet.Target
	for _, address := range c.Outside {
		out = append(out, podnet.Target{Address: address})
	}
	own := ownAddresses()
	for _, s := range servers {
		addr, err := netip.ParseAddr(s)
		if err == nil && slices.Contains(c.families(), map[bool]string{true: "ipv4", false: "ipv6"}[addr.Unmap().Is4()]) && !addr.IsLoopback() && !slices.Contains(own, addr.WithZone("").Unmap()) {
			out = append(out, podnet.Target{Address: net.JoinHostPort(s, "53"), DNS: true})
		}
	}
	return out
}

// ownAddresses returns the addresses of the host's interfaces: packets to them are not forwarded.
func ownAddresses() []netip.Addr {
	all, _ := net.InterfaceAddrs()
	var out []netip.Addr
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out
}

// reach tries all targets in parallel.
func reach(ctx context.Context, targets []podnet.Target, namespace string) []attempt {
	out := make([]attempt, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() { out[i].conn, out[i].err = t.Reach(ctx, namespace) })
	}
	all.Wait()
	return out
}

func closeAll(list []attempt) {
	for _, a := range list {
		if a.conn != nil {
			_ = a.conn.Close()
		}
	}
}

// isMasqueraded reports whether the kernel replaces the pod's address in the packets of a
// connection that is open, by the address to which the answers go. It is true when the kernel
// does not know the connection.
func isMasqueraded(ctx context.Context, sys engine.System, conn net.Conn) bool {
	from, ok := conn.LocalAddr().(*net.TCPAddr)
	to, ok2 := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || !ok2 {
		return true
	}
	r, err := sys.Run(ctx, engine.Command{Argv: []string{"conntrack", "-G", "-p", "tcp",
		"--orig-src", from.IP.String(), "--orig-dst", to.IP.String(), "--sport", strconv.Itoa(from.Port), "--dport", strconv.Itoa(to.Port)}})
	if err != nil || r.Exit != 0 {
		return true
	}
	// The tuple of the answers follows that of the requests (conntrack(8)).
	var destinations []string
	for _, field := range strings.Fields(r.Stdout) {
		if d, ok := strings.CutPrefix(field, "dst="); ok {
			destinations = append(destinations, d)
		}
	}
	return len(destinations) < 2 || destinations[1] != from.IP.String()
}
