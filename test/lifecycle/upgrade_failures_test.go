//go:build lab

package lifecycle

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// blockedNode upgrades while the PodDisruptionBudget of an application allows no
// eviction from n2. As a critical host n2 stops the upgrade; as a host that may fail
// it is reported while n3, in the same batch, is upgraded. Each time n2 is uncordoned
// again, and it is upgraded when the budget allows it. A load balancer gets the
// events of every node that loses its pods.
func blockedNode(s *site) {
	balancer := s.loadBalancer()
	good := s.inventory()
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "maintenance")["hooks"] = []any{
			map[string]any{"name": "balancer", "http": map[string]any{"url": balancer.url + "/{{ host.name }}/drain", "method": "PUT"}},
			map[string]any{"name": "balancer again", "phase": "after", "http": map[string]any{"url": balancer.url + "/{{ host.name }}/up", "method": "PUT"}},
		}
	})
	s.blockEvictions("n2")
	upgrade := []string{"upgrade", "--to", newer, "--batch-size", "1", "--max-fail", "1", "--drain-timeout", "2m"}

	o := s.Deployer(append(upgrade, "--rollout", s.rolloutSteps("n1", "n2", "n3"), "--critical", "n2")...)
	s.RequireExit(o, 6)
	s.RequireTexts(o.All(), "n2", "PodDisruptionBudget default/blocked allows no disruption now")
	s.requireVersions(map[string]string{"n1": newer, "n2": older, "n3": older}, "after a critical host failed")
	s.requireUncordoned("after a critical host failed")
	s.requireAPIServers(newer)

	o = s.Deployer(append(upgrade, "--batch-size", "2", "--rollout", s.rolloutSteps("n2:n3"))...)
	s.RequireExit(o, partly)
	s.RequireTexts(o.All(), "n2", "PodDisruptionBudget default/blocked allows no disruption now")
	s.requireVersions(map[string]string{"n1": newer, "n2": older, "n3": newer}, "after one host may fail")
	s.requireUncordoned("after one host may fail")

	s.Kubectl("m1", "delete deployment/blocked pdb/blocked --wait=false")
	s.Must(upgrade...)
	s.requireKubelets(newer)
	s.requireUncordoned("after the budget is gone")
	for _, n := range nodes {
		if got := balancer.heard(n); got != "drain up" {
			s.T.Errorf("the load balancer heard of %s: %q, want drain, then up", n, got)
		}
	}
	s.setInventory(good)
	s.setVersion(newer)
	s.unchanged("after the upgrade")
}

// upgradeTakenBack upgrades minions of two zones, of each at most one at a time. While n3
// cannot be drained, the upgrade fails and is taken back as a whole. When n3 can be
// drained, n2 and n3, which are of the same zone, take turns in batches of two.
func upgradeTakenBack(s *site) {
	good := s.inventory()
	s.Edit(func(inv map[string]any) {
		for host, zone := range map[string]string{"n1": "a", "n2": "b", "n3": "b"} {
			harness.Section(inv, "hosts", host, "labels")["example.com/zone"] = zone
		}
	})
	s.Must("install")
	s.blockEvictions("n3")
	upgrade := []string{"upgrade", "--to", newer, "--batch-size", "2", "--max-unavailable", "example.com/zone=1", "--spread", "example.com/zone", "--drain-timeout", "1m"}

	o := s.Deployer(append(upgrade, "--auto-rollback", "--lower-minor")...)
	s.RequireExit(o, 6)
	s.RequireTexts(o.All(), "n3", "PodDisruptionBudget default/blocked allows no disruption now")
	s.requireAPIServers(older)
	s.requireKubelets(older)
	s.requireUncordoned("after the upgrade was taken back")
	s.unchanged("after the upgrade was taken back")

	s.Kubectl("m1", "delete deployment/blocked pdb/blocked --wait=false")
	events, _ := s.Events(s.Must(append(upgrade, "--output", "json")...))
	s.requireTurns(events, "n2", "n3")
	s.requireKubelets(newer)
	s.requireUncordoned("after the upgrade")
	s.setInventory(good)
	s.setVersion(newer)
	s.Must("install")
	s.unchanged("without labels of zones")
}

// requireTurns checks that each of some nodes was cordoned and uncordoned by a run, and
// that never two of them were cordoned at once.
func (s *site) requireTurns(events []map[string]any, turns ...string) {
	s.T.Helper()
	var got []string
	for _, step := range harness.ChangedSteps(events) {
		if host, name, _ := strings.Cut(step, " "); slices.Contains(turns, host) && (name == cordons || name == uncordons) {
			got = append(got, step)
		}
	}
	if len(got) != 2*len(turns) {
		s.T.Errorf("the cordons of %v: %q", turns, got)
		return
	}
	for i := 0; i < len(got); i += 2 {
		host, _, _ := strings.Cut(got[i], " ")
		if got[i] != host+" "+cordons || got[i+1] != host+" "+uncordons {
			s.T.Errorf("two nodes of one zone were cordoned at once, or one twice: %q", got)
			return
		}
	}
}

// cordons and uncordons are the names of the steps that do so in an upgrade.
const cordons, uncordons = "cordon the node", "uncordon the node"

// cpuManagerPolicy changes the kubelets' policy of the CPU manager, which requires
// drained nodes: install refuses it, an upgrade pauses after its first minion, and
// its continuation changes the others. The change to the former policy is an upgrade
// too, and its rollback sets the new policy again.
func cpuManagerPolicy(s *site) {
	good := s.inventory()
	s.Edit(func(inv map[string]any) {
		kubelet := harness.Section(inv, "cluster", "overrides", "kubelet")
		kubelet["cpuManagerPolicy"], kubelet["kubeReserved"] = "static", map[string]any{"cpu": "100m"}
	})
	o := s.Deployer("install")
	s.RequireExit(o, 4)
	s.RequireTexts(o.All(), "cpuManagerPolicy changes from none to static", "deployer upgrade")
	s.requirePolicies("after install refused", "cpu", nodes, map[string]int{"none": 6})

	o = s.Deployer("upgrade", "--pause", "--soak", "5s", "--batch-size", "2")
	s.RequireExit(o, 130)
	s.RequireTexts(o.All(), "pauses after its canaries", "deployer resume")
	s.requirePolicies("after the pause", "cpu", nodes, map[string]int{"none": 2, "static": 4})
	s.requireUncordoned("during the pause")

	s.Must("resume")
	s.requirePolicies("after the upgrade was resumed", "cpu", nodes, map[string]int{"static": 6})
	s.requireUncordoned("after the upgrade was resumed")
	s.unchanged("with the policy static")

	s.setInventory(good)
	s.Must("upgrade", "--batch-size", "3")
	s.requirePolicies("after the way back", "cpu", nodes, map[string]int{"none": 6})
	s.requireUncordoned("after the way back")

	s.Must("rollback", "--yes")
	s.requirePolicies("after the rollback", "cpu", nodes, map[string]int{"static": 6})
	s.requireUncordoned("after the rollback")

	s.Must("upgrade", "--batch-size", "3")
	s.requirePolicies("after the second way back", "cpu", nodes, map[string]int{"none": 6})
	s.unchanged("after the way back")
}

// memoryManagerPolicy changes the memory manager's policy of the minions' kubelets by
// an upgrade, and rolls that back. A kubelet refuses to start with the state of
// another policy.
func memoryManagerPolicy(s *site) {
	good := s.inventory()
	state := func(when, want string) {
		s.T.Helper()
		s.requirePolicies(when, "memory", minions, map[string]int{want: len(minions)})
		s.RequireReady(nodes)
		s.requireUncordoned(when)
	}
	state("at the beginning", "None")
	s.Edit(func(inv map[string]any) {
		kubelet := harness.Section(inv, "cluster", "overrides", "kubelet")
		kubelet["memoryManagerPolicy"] = "Static"
		kubelet["kubeReserved"], kubelet["systemReserved"] = map[string]any{"memory": "100Mi"}, map[string]any{"memory": "100Mi"}
		kubelet["evictionHard"] = map[string]any{"memory.available": "100Mi"}
		kubelet["reservedMemory"] = []any{map[string]any{"numaNode": 0, "limits": map[string]any{"memory": "300Mi"}}}
	})
	o := s.Deployer("install")
	s.RequireExit(o, 4)
	s.RequireTexts(o.All(), "memoryManagerPolicy changes from none to Static", "deployer upgrade")
	s.Must("upgrade", "--batch-size", "3")
	state("after the upgrade", "Static")
	s.unchanged("with the policy Static")
	s.Must("rollback", "--yes")
	s.setInventory(good)
	state("after the rollback", "None")
	s.unchanged("after the rollback")
}

// requirePolicies checks how many kubelets of some nodes use which policy of a manager, cpu
// or memory, by the file in which they keep its assignments. Without that file a kubelet
// counts as None, which is the memory manager's word.
func (s *site) requirePolicies(when, manager string, hosts []string, want map[string]int) {
	s.T.Helper()
	got := map[string]int{}
	for _, n := range hosts {
		got[s.Shell(n, `sed 's/.*"policyName":"\([A-Za-z]*\)".*/\1/' /var/lib/kubelet/`+manager+`_manager_state 2>/dev/null || echo None`)]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.T.Errorf("%s: policies of the %s managers of %v (-want +got):\n%s", when, manager, hosts, diff)
	}
}

// requireVersions checks the versions of some kubelets.
func (s *site) requireVersions(want map[string]string, when string) {
	s.T.Helper()
	got := s.kubelets()
	for node, version := range want {
		if got[node] != version {
			s.T.Errorf("%s the kubelet of %s is %s, want %s", when, node, got[node], version)
		}
	}
}

// rolloutSteps writes a rollout plan of one step for each pattern of minions.
func (s *site) rolloutSteps(minions ...string) string {
	s.T.Helper()
	text := "steps:\n"
	for _, m := range minions {
		text += fmt.Sprintf("  - {hosts: %q}\n", m)
	}
	file := filepath.Join(s.T.TempDir(), "rollout.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.T.Fatal(err)
	}
	return file
}

// blockEvictions runs an application of two replicas of which one runs on the node
// and the other fits nowhere, with a PodDisruptionBudget that requires one.
func (s *site) blockEvictions(node string) {
	s.T.Helper()
	s.Shell("m1", fmt.Sprintf(`cat > /tmp/blocked.yaml <<'EOF'
apiVersion: apps/v1
kind: Deployment
metadata: {name: blocked}
spec:
  replicas: 2
  selector: {matchLabels: {app: blocked}}
  template:
    metadata: {labels: {app: blocked}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {kubernetes.io/hostname: %s}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: blocked}}}
      containers: [{name: blocked, image: %s, imagePullPolicy: Never, args: [probe, serve, --listen, ":8080"]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: blocked}
spec: {minAvailable: 1, selector: {matchLabels: {app: blocked}}}
EOF
kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f /tmp/blocked.yaml`, node, s.ProbeImage(node)))
	s.Eventually(time.Minute, "a pod of the application runs on "+node, func() error {
		if got := s.Kubectl("m1", "get deployment blocked -o 'jsonpath={.status.readyReplicas}'"); got != "1" {
			return fmt.Errorf("%q pods are ready", got)
		}
		return nil
	})
}

// loadBalancer is an HTTP server for hooks of deployer, which records the requests.
type loadBalancer struct {
	url string

	mu    sync.Mutex
	calls []string // /NODE/EVENT
}

// loadBalancer starts a load balancer in the controller's network.
func (s *site) loadBalancer() *loadBalancer {
	s.T.Helper()
	listener, err := s.Listen(net.JoinHostPort(plan.Controller().String(), "0"))
	if err != nil {
		s.T.Fatal(err)
	}
	b := &loadBalancer{url: "http://" + listener.Addr().String()}
	server := &http.Server{Handler: b, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	s.T.Cleanup(func() { _ = server.Close() })
	return b
}

// ServeHTTP records a request.
func (b *loadBalancer) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, r.Method+" "+r.URL.Path)
}

// heard returns the last two events of a node.
func (b *loadBalancer) heard(node string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var events []string
	for _, call := range b.calls {
		if event, ok := strings.CutPrefix(call, "PUT /"+node+"/"); ok {
			events = append(events, event)
		}
	}
	return strings.Join(events[max(0, len(events)-2):], " ")
}
