package effects

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/podnet"
	"deployer/tasks/staticpod"
	"deployer/tasks/tasktest"
)

// node is a host with pods, as containerd lists them; the first in the list is one in the network
// of the host.
type node struct {
	*tasktest.System
	pods   []string          // NAMESPACE/NAME of the pods with a network of their own
	output map[string]string // of other commands
}

// newNode returns a host whose pods have the given network namespaces, and where one more pod is in
// that of the host.
func newNode(t *testing.T, pods []string, networks ...*tasktest.Network) *node {
	t.Helper()
	n := &node{System: tasktest.New(t), pods: pods, output: map[string]string{}}
	for i := range pods {
		n.link(t, 100+i, networks[min(i, len(networks)-1)].Path)
	}
	n.link(t, 99, "/proc/thread-self/ns/net")
	n.Exec = n.exec
	return n
}

func (n *node) link(t *testing.T, pid int, path string) {
	t.Helper()
	n.Mkdir(t, fmt.Sprintf("/proc/%d/ns", pid))
	if err := os.Symlink(path, n.Path(fmt.Sprintf("/proc/%d/ns/net", pid))); err != nil {
		t.Fatal(err)
	}
}

func (n *node) exec(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
	line := strings.Join(cmd.Argv, " ")
	_, ctr, isCtr := strings.Cut(line, "--namespace k8s.io ")
	var out strings.Builder
	switch {
	case !isCtr:
		text, ok := n.output[line]
		if strings.HasPrefix(line, "conntrack ") {
			text, ok = n.output["conntrack"]
		}
		if !ok {
			return engine.CommandResult{Exit: 1}, nil
		}
		out.WriteString(text)
	case ctr == "tasks ls":
		fmt.Fprintf(&out, "TASK PID STATUS\nhost 99 RUNNING\n")
		for i := range n.pods {
			fmt.Fprintf(&out, "pod%d %d RUNNING\n", i, 100+i)
		}
	case strings.HasPrefix(ctr, "containers ls"):
		fmt.Fprintln(&out, "host")
		for i, pod := range n.pods {
			if !strings.Contains(ctr, "kube-system") || strings.HasPrefix(pod, "kube-system/") {
				fmt.Fprintf(&out, "pod%d\n", i)
			}
		}
	case strings.HasPrefix(ctr, "containers info pod"):
		var i int
		_, _ = fmt.Sscanf(ctr, "containers info pod%d", &i)
		namespace, name, _ := strings.Cut(n.pods[i], "/")
		meta := fmt.Sprintf(`{"Metadata": {"Config": {"metadata": {"namespace": %q, "name": %q}}}}`, namespace, name)
		fmt.Fprintf(&out, `{"Extensions": {"io.cri-containerd.sandbox.metadata": {"value": %q}}}`, base64.StdEncoding.EncodeToString([]byte(meta)))
	default:
		return engine.CommandResult{Exit: 1}, nil
	}
	return engine.CommandResult{Stdout: out.String()}, nil
}

// server accepts connections on the loopback address of the host, and of the networks.
func server(t *testing.T, networks ...*tasktest.Network) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for _, n := range networks {
		n.Do(func() {
			inside, err := net.Listen("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = inside.Close() })
		})
	}
	return l.Addr().String()
}

// TestEgress tries real connections from network namespaces that stand for those of pods.
func TestEgress(t *testing.T) {
	t.Parallel()
	one, other := tasktest.NewNetwork(t), tasktest.NewNetwork(t)
	blocked, open, half, nowhere := server(t), server(t, one, other), server(t, other), "127.0.0.1:1"
	const chains = "table ip filter {\n\tchain FORWARD {\n\t\ttype filter hook forward priority filter; policy drop;\n\t}\n}\n"
	tuple := func(destination string) string {
		return "tcp 6 431999 ESTABLISHED src=127.0.0.1 dst=127.0.0.1 sport=1 dport=2 src=127.0.0.1 dst=" + destination + " sport=2 dport=1 [ASSURED] use=1\n"
	}
	for name, c := range map[string]struct {
		pods    []string
		outside []string
		output  map[string]string
		detail  string
		fix     string // empty: no problem
	}{
		"no pod":          {nil, []string{open}, nil, "no pod with a network of its own runs here", ""},
		"reached":         {[]string{"kube-system/dns"}, []string{open}, nil, open + " reached from kube-system/dns", ""},
		"masqueraded":     {[]string{"kube-system/dns"}, []string{open}, map[string]string{"conntrack": tuple("192.0.2.1")}, "reached from", ""},
		"not masqueraded": {[]string{"kube-system/dns"}, []string{open}, map[string]string{"conntrack": tuple("127.0.0.1")}, "packets of pods leave with the address of the pod", "systemctl restart deployer-pods"},
		"stopped": {[]string{"shop/web"}, []string{blocked}, map[string]string{"nft list chains": chains},
			"chain FORWARD of table ip filter drops packets by default: pods of this host do not reach " + blocked + ", which the host itself reaches (tried from shop/web)", "iptables -I FORWARD -s 10.244.0.0/16 -j ACCEPT"},
		"stopped, no cause found":            {[]string{"shop/web"}, []string{blocked}, nil, "tried from shop/web)", "nft list ruleset"},
		"a server is down":                   {[]string{"shop/web"}, []string{nowhere, open}, nil, open + " reached from", ""},
		"all servers are down":               {[]string{"shop/web"}, []string{nowhere}, nil, "no address outside answers this host", ""},
		"one pod of two has a policy":        {[]string{"shop/web", "shop/api"}, []string{half}, nil, half + " reached from shop/web, shop/api", ""},
		"a policy for one server":            {[]string{"shop/web"}, []string{open, blocked}, nil, open + " reached from", ""},
		"DNS does not reach one server":      {[]string{"kube-system/dns"}, []string{open, blocked}, nil, "do not reach " + blocked, "nft list ruleset"},
		"a pod of the system is tried first": {[]string{"shop/web", "kube-system/dns"}, []string{open}, nil, "reached from kube-system/dns", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, c.pods, one, other)
			for line, text := range c.output {
				n.output[line] = text
			}
			checks := &Checks{CNI: "10-deployer.conflist", Rules: true, Outside: c.outside, PodRange: "10.244.0.0/16"}
			rows := slices.DeleteFunc(Rows(*checks, checks.observe(t.Context(), n)), func(r checkresult.Row) bool { return r.Check != CheckEgress })
			if len(rows) != 1 || !strings.Contains(rows[0].Detail, c.detail) || rows[0].OK != (c.fix == "") || !strings.Contains(rows[0].Fix, c.fix) {
				t.Errorf("rows %+v", rows)
			}
		})
	}
}

// TestNameServersOfOtherMachinesAreTried: a local resolver is no way out of the host, and pods reach no
// server of a family that they do not have.
func TestNameServersOfOtherMachinesAreTried(t *testing.T) {
	t.Parallel()
	own := ownAddresses()
	if len(own) == 0 {
		t.Fatal("the host has no address")
	}
	for _, one := range []struct{ families, want []string }{
		{nil, []string{"192.0.2.9:6443", "name server 192.0.2.1:53"}},
		{[]string{"ipv6"}, []string{"192.0.2.9:6443", "name server [fe80::1%eth0]:53", "name server [2001:db8::1]:53"}},
		{[]string{"ipv4", "ipv6"}, []string{"192.0.2.9:6443", "name server 192.0.2.1:53", "name server [fe80::1%eth0]:53", "name server [2001:db8::1]:53"}},
	} {
		var got []string
		checks := &Checks{Outside: []string{"192.0.2.9:6443"}, Families: one.families}
		for _, target := range checks.targets([]string{"127.0.0.53", "192.0.2.1", own[len(own)-1].String(), "fe80::1%eth0", "nonsense", "2001:db8::1"}) {
			got = append(got, target.String())
		}
		if !slices.Equal(got, one.want) {
			t.Errorf("families %v: targets %q, want %q", one.families, got, one.want)
		}
	}
}

// TestForgetEndedPods: what a pod that ends has not reached is no finding.
func TestForgetEndedPods(t *testing.T) {
	t.Parallel()
	web, job := staticpod.PodNetwork{Namespace: "shop", Name: "web"}, staticpod.PodNetwork{Namespace: "shop", Name: "job"}
	for name, tt := range map[string]struct {
		still []staticpod.PodNetwork
		want  Egress
	}{
		"all run":   {[]staticpod.PodNetwork{job, web}, Egress{Pods: []string{"shop/job", "shop/web"}, Unreached: []string{"10.0.0.1:6443"}}},
		"one ended": {[]staticpod.PodNetwork{web}, Egress{Pods: []string{"shop/web"}, Unreached: []string{"10.0.0.1:6443"}}},
		"all ended": {nil, Egress{}},
	} {
		e := Egress{Pods: []string{"shop/job", "shop/web"}, Unreached: []string{"10.0.0.1:6443"}}
		e.forget(tt.still)
		if diff := cmp.Diff(tt.want, e); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestPodsOfOneFamily: in a cluster with two families, a pod that has started before it got the second one
// does not show that servers of that family are unreached.
func TestPodsOfOneFamily(t *testing.T) {
	t.Parallel()
	lone := tasktest.NewNetwork(t) // without any route
	for _, c := range []struct {
		families []string
		want     []string
	}{
		{[]string{"ipv6", "ipv4"}, nil},
		{[]string{"ipv4"}, []string{"192.0.2.1:6443"}},
	} {
		e, checks := &Egress{}, &Checks{Families: c.families}
		e.tryOthers(t.Context(), []openTarget{{Target: podnet.Target{Address: "192.0.2.1:6443"}}}, []staticpod.PodNetwork{{Name: "old", Path: lone.Path}}, checks.isTried)
		if !slices.Equal(e.Unreached, c.want) {
			t.Errorf("families %v: unreached %v, want %v", c.families, e.Unreached, c.want)
		}
	}
}
