//go:build lab

package networks

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestCalico installs a cluster with Calico, whose nodes exchange routes by BGP and read its objects
// through Typha, and lets a node join. Policies are enforced. The sessions change from a mesh to
// reflectors, to others, and back, and every calico-node starts anew, while pods of two nodes ping
// each other: nothing is lost. A router of the user's own has sessions with the nodes.
func TestCalico(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3})
	n3 := s.Address("n3")
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network")["plugin"] = "calico"
		harness.Section(inv, "cluster", "network", "calico")["typha"] = "always"
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1", "n2"}}
		delete(harness.Section(inv, "hosts"), "n3")
	})
	s.Must("install")
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)

	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "hosts")["n3"] = map[string]any{"address": n3}
		harness.Section(inv, "roles")["minion"] = []any{"n1", "n2", "n3"}
	})
	s.Must("scale-up")
	s.RequireReady([]string{"m1", "n1", "n2", "n3"})

	requireTypha(s)
	pods := startPods(s)
	requireNetwork(s, "pod network calico, encapsulation none, full mesh", "m1 3 of 3 3 of 3", "n3 3 of 3 3 of 3", "default-ipv4-ippool 10.244.0.0/16 4 of 1024 (/26)", "4 nodes, no problems")
	policies(s, pods)
	calicoPolicies(s, pods)

	pings := []*pinger{startPing(s, "n2", pods["n1"]), startPing(s, "n2", pods["m1"]), startPing(s, "n3", pods["n2"])}
	for _, reflectors := range [][]any{{"m1", "n1"}, {"m1", "n2"}, nil} {
		s.Edit(func(inv map[string]any) {
			network := harness.Section(inv, "cluster", "network")
			delete(network, "reflectors")
			if reflectors != nil {
				network["reflectors"] = reflectors
			}
		})
		s.Must("install")
		requireReflectors(s, reflectors)
		sessions := map[bool]string{true: "n3 2 of 2 3 of 3", false: "n3 3 of 3 3 of 3"}[reflectors != nil]
		requireNetwork(s, sessions, "4 nodes, no problems")
		s.RequireTexts(s.Must("install").All(), "0 changed")
	}
	// Each calico-node starts anew, as in an upgrade, one node first.
	before := s.Shell("n1", started)
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "network", "calico")["typha"] = "never" })
	s.Must("install")
	if after := s.Shell("n1", started); after == before {
		t.Errorf("calico-node of n1 runs since %s, as before its manifest changed", after)
	}
	sent, lost := 0, 0
	for _, p := range pings {
		a, b := p.stop()
		sent, lost = sent+a, lost+a-b
	}
	total.pinged(sent, lost)
	if sent < 300 || lost > 0 {
		t.Errorf("%d of %d pings were lost, want none of at least 300", lost, sent)
	}
	s.Must("verify")
	s.Must("scale-down", "n3", "--yes")
	s.Edit(func(inv map[string]any) {
		delete(harness.Section(inv, "hosts"), "n3")
		harness.Section(inv, "roles")["minion"] = []any{"n1", "n2"}
	})
	s.Must("verify")
	calicoRouter(s, "n3", []string{"m1", "n1", "n2"})

	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network", "calico")["encapsulation"] = "vxlan"
	})
	overlay := s.Deployer("install")
	s.RequireExit(overlay, refused)
	s.RequireTexts(overlay.All(), "the pool default-ipv4-ippool has the encapsulation with VXLAN Never, and the inventory says Always")

	s.Edit(func(inv map[string]any) {
		network := harness.Section(inv, "cluster", "network")
		network["plugin"] = "bgp"
		delete(network, "calico")
	})
	o := s.Deployer("install")
	s.RequireExit(o, refused)
	s.RequireTexts(o.All(), "network.plugin is bgp, and the cluster was installed with calico")
}

// startPods starts a pod on each node, with the image of cluster DNS and a port of its own, and
// returns their addresses by node.
func startPods(s *harness.Site) map[string]string {
	s.T.Helper()
	image := s.Kubectl("m1", "-n kube-system get deployment coredns -o 'jsonpath={.spec.template.spec.containers[0].image}'")
	s.Shell("m1", `kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: talkers, namespace: default}
spec:
  selector: {matchLabels: {app: talkers}}
  template:
    metadata: {labels: {app: talkers}}
    spec:
      tolerations: [{operator: Exists}]
      terminationGracePeriodSeconds: 0
      containers:
        - {name: dns, image: "`+image+`", imagePullPolicy: IfNotPresent, args: [-dns.port=5353]}
EOF`)
	s.Kubectl("m1", "rollout status daemonset/talkers --timeout=90s")
	return podsOf(s)
}

// podsOf returns the addresses of the pods of startPods by node.
func podsOf(s *harness.Site) map[string]string {
	s.T.Helper()
	pods := map[string]string{}
	for line := range strings.Lines(s.Kubectl("m1", `get pods -l app=talkers -o 'jsonpath={range .items[*]}{.spec.nodeName} {.status.podIP}{"\n"}{end}'`)) {
		if f := strings.Fields(line); len(f) == 2 {
			pods[f[0]] = f[1]
		}
	}
	if len(pods) < 3 {
		s.T.Fatalf("pods by node: %v", pods)
	}
	return pods
}

// inPod prefixes a command with nsenter into the network of the node's pod of startPods.
func inPod(command string) string { return inPodAt(talkersPort) + command }

// started prints the start times of Felix on a host, in clock ticks since its boot.
const started = `for p in $(pgrep -f '[c]alico-node -felix'); do cut -d' ' -f22 /proc/$p/stat; done`

// requireTypha requires that Felix of n1 is connected with Typha.
func requireTypha(s *harness.Site) {
	s.T.Helper()
	if out := s.Shell("n1", "ss -Htnp state established '( dport = :5473 )'"); !strings.Contains(out, "calico-node") {
		s.T.Errorf("calico-node of n1 has no connection to port 5473 of Typha: %q", out)
	}
}

// calicoPolicies checks Calico's own kinds, written by calicoctl: a GlobalNetworkPolicy, and a host
// endpoint without a policy, which leaves the failsafe ports of m1 open only.
func calicoPolicies(s *harness.Site, pods map[string]string) {
	s.T.Helper()
	apply := func(object string) { s.Shell("m1", "calicoctl apply -f - <<'EOF'\n"+object+"EOF") }
	open := func(what, command string, want bool) {
		s.T.Helper()
		s.Eventually(20*time.Second, what, func() error {
			_, err := s.SSH(s.T.Context(), "n1", command)
			if (err == nil) != want {
				return fmt.Errorf("a connection is possible: %v, want %v", err == nil, want)
			}
			return nil
		})
	}
	apply(`apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata: {name: closed}
spec: {selector: app == 'talkers', types: [Ingress], ingress: [{action: Deny, protocol: TCP, destination: {ports: [5353]}}, {action: Allow}]}
`)
	open("a GlobalNetworkPolicy closes a port", inPod(tcp(pods["n2"], 5353)), false)
	s.Shell("m1", "calicoctl delete globalnetworkpolicy closed")
	open("without it the port is open", inPod(tcp(pods["n2"], 5353)), true)

	m1 := s.Address("m1")
	const healthOfKubeProxy = 10256
	open("a host without endpoint", tcp(m1, healthOfKubeProxy), true)
	apply(`apiVersion: projectcalico.org/v3
kind: HostEndpoint
metadata: {name: m1}
spec: {node: m1, interfaceName: "*", expectedIPs: ["` + m1 + `"]}
`)
	open("a host endpoint closes ports", tcp(m1, healthOfKubeProxy), false)
	for _, failsafe := range []int{22, 5473, 6443, 10250} {
		open(fmt.Sprintf("the failsafe port %d", failsafe), tcp(m1, failsafe), true)
	}
	if _, err := s.SSH(s.T.Context(), "m1", tcp(s.Address("n1"), 10250)); err != nil {
		s.T.Errorf("m1 does not reach the kubelet of n1: %v", err)
	}
	s.Shell("m1", "timeout 20 kubectl --kubeconfig /etc/kubernetes/admin.conf logs -l app=talkers --tail 1")
	// Packets of nodes to the port of BGP have a password, those of other hosts need none to connect.
	s.Eventually(20*time.Second, "the failsafe port 179", func() error {
		ctx, cancel := context.WithTimeout(s.T.Context(), time.Second)
		defer cancel()
		conn, err := s.Dial(ctx, "tcp", net.JoinHostPort(m1, "179"))
		if err != nil {
			return err
		}
		return conn.Close()
	})
	s.RequireReady([]string{"m1", "n1"})
	s.Shell("m1", "calicoctl delete hostendpoint m1")
	open("without it the ports are open", tcp(m1, healthOfKubeProxy), true)
}

// calicoRouter starts BIRD as a router on a host that is no node, and gives the cluster a BGPPeer with a
// password. The router learns the ranges of pods and Services, the nodes learn a route of the router,
// and an install leaves all of that as it is.
func calicoRouter(s *harness.Site, router string, nodes []string) {
	s.T.Helper()
	address := s.Address(router)
	config := "router id " + address + ";\nprotocol device {}\nprotocol static { ipv4; route 198.51.100.0/24 blackhole; }\n"
	for _, node := range nodes {
		config += fmt.Sprintf("protocol bgp %s { local %s as 65010; neighbor %s as 64512; password \"hunter2\"; ipv4 { import all; export where source = RTS_STATIC; }; }\n", node, address, s.Address(node))
	}
	s.Shell(router, "cat >/tmp/router.conf <<'EOF'\n"+config+"EOF\nbird -c /tmp/router.conf -s /tmp/router.ctl -P /tmp/router.pid")
	defer s.Shell(router, "kill $(cat /tmp/router.pid)")
	s.Kubectl("m1", `-n kube-system patch secret calico-bgp-passwords --type merge -p '{"stringData":{"router":"hunter2"}}'`)
	s.Shell("m1", `calicoctl apply -f - <<'EOF'
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: router}
spec: {peerIP: `+address+`, asNumber: 65010, password: {secretKeyRef: {name: calico-bgp-passwords, key: router}}}
EOF`)
	services := s.Kubectl("m1", "get servicecidr kubernetes -o 'jsonpath={.spec.cidrs[0]}'")
	s.Kubectl("m1", `patch bgpconfigurations.crd.projectcalico.org default --type merge -p '{"spec":{"serviceClusterIPs":[{"cidr":"`+services+`"}]}}'`)
	learned := func() error {
		routes := s.Shell(router, "birdc -s /tmp/router.ctl show route")
		for _, want := range append([]string{services}, nodes...) { // protocols are named after nodes
			if !strings.Contains(routes, want) {
				return fmt.Errorf("the router has no route of %s:\n%s", want, routes)
			}
		}
		for _, node := range nodes {
			if out := s.Shell(node, "ip route show 198.51.100.0/24"); !strings.Contains(out, "via "+address) {
				return fmt.Errorf("%s has no route of the router: %q", node, out)
			}
		}
		return nil
	}
	s.Eventually(90*time.Second, "the router and the nodes have each other's routes", learned)
	s.RequireTexts(s.Must("install").All(), "0 changed")
	if err := learned(); err != nil {
		s.T.Errorf("after an install: %v", err)
	}
	s.Shell("m1", "calicoctl delete bgppeer router")
}

// requireReflectors requires that exactly these nodes reflect routes.
func requireReflectors(s *harness.Site, want []any) {
	s.T.Helper()
	got := s.Kubectl("m1", `get nodes -l deployer/reflector -o 'jsonpath={.items[*].metadata.name}'`)
	var names []string
	for _, w := range want {
		names = append(names, w.(string))
	}
	if got != strings.Join(names, " ") {
		s.T.Errorf("the reflectors are %q, want %v", got, names)
	}
}

// requireNetwork requires that the pod network has no problem, and that its status has texts, between
// whose words there is any number of blanks.
func requireNetwork(s *harness.Site, want ...string) {
	s.T.Helper()
	s.RequireTexts(strings.Join(strings.Fields(s.Must("network", "status").Stdout), " "), want...)
}

// pinger pings every 50 ms from the pod of a node.
type pinger struct {
	site       *harness.Site
	node, file string
}

func startPing(s *harness.Site, node, address string) *pinger {
	s.T.Helper()
	p := &pinger{site: s, node: node, file: "/tmp/ping-" + address}
	s.Shell(node, inPod("ping -i 0.05 "+address)+" >"+p.file+" 2>&1 </dev/null & echo $! >"+p.file+".pid")
	return p
}

var pingCounts = regexp.MustCompile(`(\d+) packets transmitted, (\d+) received`)

// stop ends the pings and returns how many were sent and answered.
func (p *pinger) stop() (sent, answered int) {
	p.site.T.Helper()
	out := p.site.Shell(p.node, "sleep 1; pkill -INT -f 'ping -i 0.05 "+strings.TrimPrefix(p.file, "/tmp/ping-")+"'; sleep 1; tail -n 4 "+p.file)
	m := pingCounts.FindStringSubmatch(out)
	if m == nil {
		p.site.T.Fatalf("ping says %q", out)
	}
	_, _ = fmt.Sscan(m[1], &sent)
	_, _ = fmt.Sscan(m[2], &answered)
	return sent, answered
}
