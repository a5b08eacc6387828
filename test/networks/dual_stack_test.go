//go:build lab

package networks

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"deployer/engine/probe"
	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestDualStack installs a cluster with both families, and lets a node join. Pods, Services, node
// ports, DNS and the way out work in both; the second install changes nothing.
func TestDualStack(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3})
	s.Edit(func(inv map[string]any) {
		dualStack(s, inv)
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1", "n2"}}
	})
	s.Must("install")
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
	requireNetwork(s, "m1 4 of 4 4 of 4", "3 nodes, no problems")
	if got := s.Kubectl("m1", "get node n1 -o 'jsonpath={.spec.podCIDRs}'"); got != `["10.244.1.0/24","fd00:10:244:1::/64"]` {
		t.Errorf("n1 has the ranges %s", got)
	}

	s.Edit(func(inv map[string]any) { harness.Section(inv, "roles")["minion"] = []any{"n1", "n2", "n3"} })
	s.Must("scale-up")
	nodes := []string{"m1", "n1", "n2", "n3"}
	s.RequireReady(nodes)
	s.Must("verify")
	requireNetwork(s, "n3 6 of 6 6 of 6", "4 nodes, no problems")
	requireBothFamilies(s, nodes)
}

// TestSingleToDualStack gives a running cluster the second family, while pods of its nodes ping each
// other every 50 ms: nothing is lost. A pod has its second address after a restart. The way back is
// refused.
func TestSingleToDualStack(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 3, Minions: 2})
	nodes := []string{"m1", "m2", "m3", "n1", "n2"}
	s.Must("install")
	pods := startTalkers(s, nodes)
	pings := []*talkerPing{startTalkerPing(s, "n1", pods["n2"].ip), startTalkerPing(s, "n2", pods["m1"].ip), startTalkerPing(s, "m2", pods["n1"].ip)}

	s.Edit(func(inv map[string]any) { dualStack(s, inv) })
	plan := s.Run("plan", "install", "-i", s.Inventory)
	s.RequireExit(plan, 0)
	s.RequireTexts(plan.All(), "record further pod range fd00:10:244:3::/64", "+protocol bgp 'to6_n1' from node_ipv6", "--node-ip=172.31.0.14,fd00:172:31::14")
	s.Must("install")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	requireNothingLost(s, pings, 1000)

	s.Must("verify")
	requireNetwork(s, "n1 8 of 8 8 of 8", "5 nodes, no problems")
	if got := s.Kubectl("m1", `get node n1 -o 'jsonpath={.spec.podCIDRs} {.metadata.annotations.deployer/further-pod-cidr}'`); got != `["10.244.3.0/24"] fd00:10:244:3::/64` {
		t.Errorf("n1 has the ranges %s", got)
	}
	for node, pod := range talkers(s) {
		if pod.further != "" {
			t.Errorf("the pod of %s has got %s without a restart", node, pod.further)
		}
	}
	s.Kubectl("m1", "delete service talkers")
	s.Kubectl("m1", "rollout restart daemonset/talkers")
	requireBothFamilies(s, nodes)

	s.Edit(func(inv map[string]any) {
		c := harness.Section(inv, "cluster")
		c["pod_cidr"], c["service_cidr"] = "10.244.0.0/16", "10.96.0.0/16"
	})
	o := s.Deployer("install")
	s.RequireExit(o, refused)
	s.RequireTexts(o.All(), "nodes have ranges outside of it: m1 fd00:10:244::/64", "service_cidr is 10.96.0.0/16, and the ServiceCIDR kubernetes of the cluster is 10.96.0.0/16, fd00:10:96::/112")
}

// talkerPing pings every 50 ms from the pod of a node.
type talkerPing struct {
	site       *harness.Site
	node, file string
}

func startTalkerPing(s *harness.Site, node, address string) *talkerPing {
	s.T.Helper()
	p := &talkerPing{site: s, node: node, file: "/tmp/ping-" + address}
	s.Shell(node, inTalker("ping -i 0.05 "+address)+" >"+p.file+" 2>&1 </dev/null & echo $! >"+p.file+".pid")
	return p
}

// stop ends the pings and returns how many were sent and answered.
func (p *talkerPing) stop() (sent, answered int) {
	p.site.T.Helper()
	out := p.site.Shell(p.node, "sleep 1; kill -INT $(cat "+p.file+".pid); sleep 1; tail -n 4 "+p.file)
	m := pingCounts.FindStringSubmatch(out)
	if m == nil {
		p.site.T.Fatalf("ping says %q", out)
	}
	_, _ = fmt.Sscan(m[1], &sent)
	_, _ = fmt.Sscan(m[2], &answered)
	return sent, answered
}

// requireNothingLost stops pings, of which at least a number must have been sent, and none lost.
func requireNothingLost(s *harness.Site, pings []*talkerPing, atLeast int) {
	s.T.Helper()
	sent, lost := 0, 0
	for _, p := range pings {
		a, b := p.stop()
		if a > b {
			s.T.Logf("from %s, %s: %d of %d lost", p.node, p.file, a-b, a)
		}
		sent, lost = sent+a, lost+a-b
	}
	total.pinged(sent, lost)
	s.T.Logf("pings sent=%d lost=%d", sent, lost)
	if sent < atLeast || lost > 0 {
		s.T.Errorf("%d of %d pings were lost, want none of at least %d", lost, sent, atLeast)
	}
}

// TestCalicoDualStack gives a running cluster with Calico the second family, while pods ping each
// other: nothing is lost. Then pods, Services, DNS and the way out work in both.
func TestCalicoDualStack(t *testing.T) { calicoDualStack(t, "kubernetes") }

// TestInEtcdDualStack is the same with Calico's objects in etcd.
func TestInEtcdDualStack(t *testing.T) { calicoDualStack(t, "etcd") }

func calicoDualStack(t *testing.T, datastore string) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 2})
	nodes := []string{"m1", "n1", "n2"}
	s.Edit(func(inv map[string]any) {
		network := harness.Section(inv, "cluster", "network")
		network["plugin"], network["calico"] = "calico", map[string]any{"datastore": datastore}
	})
	s.Must("install")
	pods := startTalkers(s, nodes)
	pings := []*talkerPing{startTalkerPing(s, "n1", pods["n2"].ip), startTalkerPing(s, "n2", pods["m1"].ip)}
	s.Edit(func(inv map[string]any) { dualStack(s, inv) })
	s.Must("install")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
	requireNothingLost(s, pings, 500)
	s.Kubectl("m1", "delete service talkers")
	s.Kubectl("m1", "rollout restart daemonset/talkers")
	requireBothFamilies(s, nodes)
	s.Must("verify")
	requireNetwork(s, "n1 4 of 4 ", "default-ipv6-ippool fd00:10:244::/56 3 of ", "3 nodes, no problems")
	reflectUnderPings(s, nodes, datastore)
}

// reflectUnderPings changes the sessions of Calico from a mesh to reflectors and back, while pods of all
// nodes ping each other in each family: nothing is lost, and no standby route is left. datastore is where
// Calico has its objects.
func reflectUnderPings(s *harness.Site, nodes []string, datastore string) {
	s.T.Helper()
	require := map[string]func(*harness.Site, []any){"kubernetes": requireReflectors, "etcd": requireReflectorsInEtcd}[datastore]
	pods := startTalkers(s, nodes)
	var pings []*talkerPing
	for i, from := range nodes {
		for _, to := range nodes[i+1:] {
			pings = append(pings, startTalkerPing(s, from, pods[to].ip))
			if further := pods[to].further; further != "" {
				pings = append(pings, startTalkerPing(s, from, further))
			}
		}
	}
	for _, reflectors := range [][]any{{"m1", "n1"}, {"m1", "n2"}, nil} {
		s.Edit(func(inv map[string]any) {
			network := harness.Section(inv, "cluster", "network")
			delete(network, "reflectors")
			if reflectors != nil {
				network["reflectors"] = reflectors
			}
		})
		s.Must("install")
		require(s, reflectors)
		requireNetwork(s, "3 nodes, no problems")
		for _, node := range nodes {
			if left := s.Shell(node, "ls /etc/deployer/standby-routes 2>/dev/null; ip rule show pref 32011; ip -6 rule show pref 32011; ip route show table 4097 2>/dev/null; ip -6 route show table 4097 2>/dev/null; true"); strings.TrimSpace(left) != "" {
				s.T.Errorf("%s has standby routes: %s", node, left)
			}
		}
	}
	requireNothingLost(s, pings, 1000)
}

// dualStack gives the cluster of an inventory ranges of both families, and the hosts their addresses.
func dualStack(s *harness.Site, inv map[string]any) {
	c := harness.Section(inv, "cluster")
	c["pod_cidr"], c["service_cidr"] = "10.244.0.0/16,fd00:10:244::/56", "10.96.0.0/16,fd00:10:96::/112"
	for _, h := range s.Hosts {
		harness.Section(inv, "hosts", h.Name)["node_address"] = fmt.Sprintf("%s,%s", h.Address, h.IPv6())
	}
}

// talkerPort is the port of the pods of startTalkers.
const talkerPort = 8088

// talker is a pod that serves HTTP, and checks what it is asked to.
type talker struct {
	ip      string // primary address
	further string // address of the other family; empty for none
}

// startTalkers starts a pod with the probe on each node, behind a Service of both families with a node
// port, and returns the pods by node.
func startTalkers(s *harness.Site, nodes []string) map[string]talker {
	s.T.Helper()
	s.Shell("m1", fmt.Sprintf(`kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'
apiVersion: v1
kind: Service
metadata: {name: talkers, namespace: default}
spec:
  type: NodePort
  ipFamilyPolicy: PreferDualStack
  selector: {app: talkers}
  ports: [{port: 80, targetPort: %[2]d, nodePort: 30080}]
---
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
        - {name: probe, image: "%[1]s", imagePullPolicy: Never, args: [probe, serve, --listen, ":%[2]d"]}
EOF`, s.ProbeImage("m1"), talkerPort))
	s.Kubectl("m1", "rollout status daemonset/talkers --timeout=120s")
	pods := talkers(s)
	if len(pods) != len(nodes) {
		s.T.Fatalf("pods by node: %v", pods)
	}
	return pods
}

// talkers returns the pods of startTalkers by node.
func talkers(s *harness.Site) map[string]talker {
	s.T.Helper()
	pods := map[string]talker{}
	for line := range strings.Lines(s.Kubectl("m1", `get pods -l app=talkers -o 'jsonpath={range .items[*]}{.spec.nodeName} {.status.podIPs[*].ip}{"\n"}{end}'`)) {
		f := append(strings.Fields(line), "", "")
		if f[0] != "" {
			pods[f[0]] = talker{f[1], f[2]}
		}
	}
	return pods
}

// inTalker prefixes a command with nsenter into the network of the node's pod of startTalkers.
func inTalker(command string) string {
	return fmt.Sprintf(`nsenter -t $(pgrep -of '[p]robe serve --listen :%d') -n %s`, talkerPort, command)
}

// talkerTarget is a request to a pod of startTalkers.
func talkerTarget(address string, port int) probe.Target {
	return probe.Target{Kind: "http", Address: "http://" + netip.AddrPortFrom(netip.MustParseAddr(address), uint16(port)).String() + "/ok"}
}

// requireReached lets the pod of a node check targets, until it reaches all of them.
func requireReached(s *harness.Site, node string, from talker, targets []probe.Target) {
	s.T.Helper()
	body, err := json.Marshal(probe.Request{Targets: targets})
	if err != nil {
		s.T.Fatal(err)
	}
	s.Eventually(45*time.Second, "the pod of "+node+" reaches all", func() error {
		out := s.Shell(node, fmt.Sprintf("curl -sS --max-time 20 http://%s/check -d '%s'", net.JoinHostPort(from.ip, strconv.Itoa(talkerPort)), body))
		var response probe.Response
		if err := json.Unmarshal([]byte(out), &response); err != nil || len(response.Results) != len(targets) {
			return fmt.Errorf("the probe answers %q: %w", out, err)
		}
		for i, r := range response.Results {
			if !r.OK {
				return fmt.Errorf("%+v: %s", targets[i], r.Detail)
			}
		}
		return nil
	})
}

// requireBothFamilies requires that pods of each node reach those of the others, the Service, node
// ports, cluster DNS and a server outside in both families.
func requireBothFamilies(s *harness.Site, nodes []string) {
	s.T.Helper()
	pods := startTalkers(s, nodes)
	web := talkerTarget
	var targets []probe.Target
	for _, h := range s.Hosts {
		if pod, ok := pods[h.Name]; ok {
			targets = append(targets, web(pod.ip, talkerPort), web(pod.further, talkerPort), web(h.Address.String(), 30080), web(h.IPv6().String(), 30080))
		}
	}
	for _, service := range strings.Fields(s.Kubectl("m1", "get service talkers -o 'jsonpath={.spec.clusterIPs[*]}'")) {
		targets = append(targets, web(service, 80))
	}
	for _, server := range []string{"10.96.0.10", "fd00:10:96::a"} {
		for _, family := range []string{probe.FamilyIPv4, probe.FamilyIPv6} {
			targets = append(targets, probe.Target{Kind: "dns", Name: "talkers.default.svc.cluster.local.", Family: family, Server: server})
		}
	}
	sources := outsideServer(s)
	targets = append(targets, probe.Target{Kind: "tcp", Address: outsideAddress})
	for _, node := range nodes {
		requireReached(s, node, pods[node], targets)
		ping := "ping -c 3 -i 0.2 -W 2 "
		for _, other := range pods {
			s.Shell(node, inTalker(ping+other.ip)+" && "+inTalker(ping+other.further))
		}
	}
	for range nodes {
		if source := <-sources; !plan.SubnetIPv6().Contains(source) {
			s.T.Errorf("a connection from a pod to the outside comes from %s", source)
		}
	}
}

// outsideAddress is the address of a server outside of the cluster.
const outsideAddress = "[fd00:172:31::1]:5000"

// outsideServer listens outside of the cluster, and returns the sources of connections.
func outsideServer(s *harness.Site) <-chan netip.Addr {
	s.T.Helper()
	listener, err := s.Listen(outsideAddress)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = listener.Close() })
	sources := make(chan netip.Addr, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			if a, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
				sources <- a.Addr()
			}
			_ = conn.Close()
		}
	}()
	return sources
}
