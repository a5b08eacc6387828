//go:build lab

package networks

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// Exit codes of deployer.
const (
	refused  = 4 // nothing was changed
	problems = 5 // verify, status and apply
)

// TestOwnNetwork installs a cluster with network.plugin: none. Its network is one that the test
// lays down: a bridge on each node, with a route to each other node. deployer says what is missing
// before, tests the cluster with it, lets a node join only when the network has reached it, and
// never changes a file of the network.
func TestOwnNetwork(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 2})
	n2 := s.Address("n2")
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "network")["plugin"] = "none"
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1"}}
		delete(harness.Section(inv, "hosts"), "n2")
	})

	first := s.Must("install")
	s.RequireTexts(first.All(), "the nodes have no pod network, and cluster.network.plugin is none")
	again := s.Must("install")
	s.RequireTexts(again.All(), "0 changed")
	for _, verb := range []string{"verify", "status"} {
		o := s.Deployer(verb)
		s.RequireExit(o, problems)
		s.RequireTexts(o.All(), "not Ready: it has no pod network")
	}
	missing := s.Deployer("network", "status")
	s.RequireExit(missing, problems)
	s.RequireTexts(missing.Stdout, "n1  CNI: /etc/cni/net.d has no configuration, so pods get no network", "2 nodes, 2 problems")
	check := s.Run("apply", "-i", s.Inventory, "--check")
	s.RequireExit(check, problems)
	s.RequireTexts(check.All(), "m1, n1 have none, so they are not Ready; apply the manifests of your pod network", "no host differs")

	nodes := []string{"m1", "n1"}
	lay(s, nodes, nodes)
	s.Eventually(2*time.Minute, "the cluster works with its network", func() error {
		if o := s.Deployer("verify"); o.Code != 0 {
			return errors.New(o.All())
		}
		return nil
	})
	s.RequireTexts(s.Must("network", "status").Stdout, "pod network none", "2 nodes, no problems")
	before := networkFiles(s, "n1")
	o := s.Must("install")
	if strings.Contains(o.All(), "no pod network") {
		t.Errorf("install misses the network:\n%s", o.All())
	}
	s.RequireTexts(o.All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)

	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "hosts")["n2"] = map[string]any{"address": n2}
		harness.Section(inv, "roles")["minion"] = []any{"n1", "n2"}
	})
	joins := s.DeployerCommand(t.Context(), "scale-up")
	var said bytes.Buffer
	joins.Stdout, joins.Stderr = &said, &said
	if err := joins.Start(); err != nil {
		t.Fatal(err)
	}
	s.Eventually(3*time.Minute, "n2 waits for its network", func() error {
		if got := s.Kubectl("m1", "get node n2 --ignore-not-found -o 'jsonpath={.spec.unschedulable} {.spec.podCIDR} {.status.conditions[?(@.type==\"Ready\")].message}'"); !strings.HasPrefix(got, "true 10.244.") || !strings.Contains(got, "NetworkPluginNotReady") {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
	all := append(nodes, "n2")
	lay(s, all, []string{"n2"})
	for _, node := range nodes {
		route(s, node, "n2")
	}
	if err := joins.Wait(); err != nil {
		t.Fatalf("scale-up: %v\n%s", err, said.String())
	}
	s.RequireReady(all)
	s.RequireSchedulable("n2", "after it has joined")
	s.Must("verify")

	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "network")["plugin"] = "bgp" })
	for _, args := range [][]string{{"install"}, {"plan", "install"}} {
		o := s.Deployer(args...)
		s.RequireExit(o, refused)
		s.RequireTexts(o.All(), "network.plugin is bgp, and the cluster was installed with none")
	}
	if after := networkFiles(s, "n1"); after != before {
		t.Errorf("the network's files have changed:\n%s\nthey were:\n%s", after, before)
	}
}

// lay gives hosts the network of the test: a bridge for their pods, and routes to the pods of all
// other nodes.
func lay(s *harness.Site, all, hosts []string) {
	s.T.Helper()
	for _, host := range hosts {
		s.Shell(host, fmt.Sprintf(`mkdir -p /etc/cni/net.d && cat >/etc/cni/net.d/20-own.conflist <<'EOF'
{"cniVersion": "1.0.0", "name": "own", "plugins": [
  {"type": "bridge", "bridge": "own0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF`, podRange(s, host)))
		for _, other := range all {
			if other != host {
				route(s, host, other)
			}
		}
	}
}

// route adds the route from a host to the pods of another one.
func route(s *harness.Site, host, other string) {
	s.T.Helper()
	s.Shell(host, fmt.Sprintf("ip route replace %s via %s", podRange(s, other), s.Address(other)))
}

// podRange returns the range that deployer has given to a node.
func podRange(s *harness.Site, node string) string {
	s.T.Helper()
	return strings.TrimSpace(s.Kubectl("m1", "get node "+node+" -o 'jsonpath={.spec.podCIDR}'"))
}

// networkFiles returns the digests of the network's files on a host, without those that a pod
// that starts or ends changes.
func networkFiles(s *harness.Site, host string) string {
	s.T.Helper()
	lines := strings.Split(s.Shell(host, "sha256sum /etc/cni/net.d/*; ip route show | grep -v 'proto kernel'"), "\n")
	// The join of n2 adds its route.
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, s.Address("n2")) })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
