//go:build lab

package networks

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// ciliumModule is the Go module of Cilium, which has its chart and the definitions of its kinds.
const ciliumModule = "github.com/cilium/cilium"

// TestCilium installs a cluster without kube-proxy whose network is Cilium's agent: the chart of its
// release, unchanged, with the values of examples/cilium, as an add-on. Cilium's programs in the
// kernel forward the traffic of Services. A node joins and policies are enforced. While pods ping each
// other, a change of the add-on starts the agents anew, and Kubernetes is upgraded. A node boots again.
func TestCilium(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 2})
	example := copyExample(s, "cilium")
	images := filepath.Join(example, "images")
	buildImages(t, images, "cilium")
	archive := moduleArchive(t, filepath.Join(images, "cilium"), ciliumModule)
	extract(t, archive, "install/kubernetes/cilium", filepath.Join(example, "charts"))
	extract(t, archive, "pkg/k8s/apis/cilium.io/client/crds", example)

	n2 := s.Address("n2")
	// A host of the lab lacks two rights that the chart lists for its containers: SYS_MODULE and
	// SYS_RESOURCE. A privileged container has those of its host.
	values := map[string]any{"securityContext": map[string]any{"privileged": true}}
	setInterval := func(interval string) {
		values["bpf"] = map[string]any{"monitorInterval": interval}
		s.Edit(func(inv map[string]any) {
			harness.Section(inv, "cluster")["addons"] = []any{
				map[string]any{"name": "cilium-kinds", "manifests": []any{"cilium/crds/v2", "cilium/crds/v2alpha1"}, "network": true},
				map[string]any{
					"name": "cilium", "namespace": "kube-system", "network": true, "images": "deliver", "chart": "cilium/charts/cilium",
					"timeout": "10m", "values_files": []any{"cilium/values.yaml", "cilium/agent-only.yaml"}, "values": values,
				},
			}
		})
	}
	s.Edit(func(inv map[string]any) {
		cluster := harness.Section(inv, "cluster")
		cluster["kubernetes"] = "v1.35.4"
		harness.Section(cluster, "network")["plugin"] = "none"
		harness.Section(cluster, "kube_proxy")["mode"] = "none"
		delete(harness.Section(cluster, "overrides"), "kube_proxy") // the lab's own
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1"}}
		delete(harness.Section(inv, "hosts"), "n2")
	})
	setInterval("5s")
	s.Must("install")
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
	requireNetwork(s, "pod network none", "2 nodes, no problems")

	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "hosts")["n2"] = map[string]any{"address": n2}
		harness.Section(inv, "roles")["minion"] = []any{"n1", "n2"}
	})
	s.Must("scale-up")
	nodes := []string{"m1", "n1", "n2"}
	s.RequireReady(nodes)
	s.RequireSchedulable("n2", "after it has joined")
	requireNetwork(s, "3 nodes, no problems")
	pods := startPods(s)
	requireCiliumServices(s, nodes)
	policies(s, pods)
	networkdLeavesCilium(s, "n1")

	pings := []*pinger{startPing(s, "n1", pods["n2"]), startPing(s, "n2", pods["m1"])}
	const agentStarted = `for p in $(pidof cilium-agent); do cut -d' ' -f22 /proc/$p/stat; done`
	before := s.Shell("n1", agentStarted)
	setInterval("10s")
	s.RequireTexts(s.Run("plan", "install", "-i", s.Inventory).All(), "ConfigMap kube-system/cilium-config", "monitor-aggregation-interval")
	s.Must("install")
	if after := s.Shell("n1", agentStarted); after == before {
		t.Errorf("the agent of n1 runs since %s, as before its configuration changed", after)
	}
	requireAnswered(s, pings, 300)

	pings = []*pinger{startPing(s, "n1", pods["n2"]), startPing(s, "n2", pods["m1"]), startPing(s, "m1", pods["n1"])}
	before = s.Shell("n1", agentStarted)
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster")["kubernetes"] = "v1.36.3" })
	s.Must("upgrade")
	requireAnswered(s, pings, 300)
	if after := s.Shell("n1", agentStarted); after != before {
		t.Errorf("the agent of n1 has started anew in an upgrade of Kubernetes: %s, then %s", before, after)
	}
	s.RequireReady(nodes)
	s.Must("verify")
	requireCiliumServices(s, nodes)
	s.RequireTexts(s.Must("install").All(), "0 changed")

	if err := s.Lab.Reboot(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	s.Eventually(5*time.Minute, "the cluster works after a node has booted", func() error {
		if o := s.Deployer("verify"); o.Code != 0 {
			return errors.New(o.All())
		}
		return nil
	})
	requireCiliumServices(s, nodes)

	s.RequireTexts(s.Must("install").All(), "0 changed")
}

// requireAnswered ends pings, and requires that all of them were answered, and at least a number was sent.
func requireAnswered(s *harness.Site, pings []*pinger, atLeast int) {
	s.T.Helper()
	sent, lost := 0, 0
	for _, p := range pings {
		a, b := p.stop()
		sent, lost = sent+a, lost+a-b
	}
	total.pinged(sent, lost)
	if sent < atLeast || lost > 0 {
		s.T.Errorf("%d of %d pings were lost, want none of at least %d", lost, sent, atLeast)
	}
}

// requireCiliumServices requires that Cilium's programs forward the traffic of Services, from hosts
// and pods, to addresses of the cluster and to ports of nodes, and that no kube-proxy runs.
func requireCiliumServices(s *harness.Site, nodes []string) {
	s.T.Helper()
	s.Shell("m1", `kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'
apiVersion: v1
kind: Service
metadata: {name: talkers, namespace: default}
spec: {type: NodePort, selector: {app: talkers}, ports: [{protocol: TCP, port: 53, targetPort: 5353, nodePort: 30053}]}
EOF`)
	service := strings.TrimSpace(s.Kubectl("m1", "get service talkers -o 'jsonpath={.spec.clusterIP}'"))
	for _, node := range nodes {
		s.RequireTexts(s.Kubectl("m1", "-n kube-system exec $(kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get pods -l k8s-app=cilium --field-selector spec.nodeName="+node+" -o name) -c cilium-agent -- cilium-dbg status"), "KubeProxyReplacement:    True")
		if found := s.Shell(node, "pidof kube-proxy || true; iptables-save 2>/dev/null | grep KUBE-SVC || true"); strings.TrimSpace(found) != "" {
			s.T.Errorf("%s has something of kube-proxy: %s", node, found)
		}
		s.Eventually(time.Minute, node+" and its pod reach the Service", func() error {
			for _, try := range []string{tcp(service, 53), inPod(tcp(service, 53)), udp("10.96.0.10", 53), inPod(udp("10.96.0.10", 53))} {
				if _, err := s.SSH(s.T.Context(), node, try); err != nil {
					return fmt.Errorf("%s: %w", try, err)
				}
			}
			for _, other := range nodes {
				if _, err := s.SSH(s.T.Context(), node, tcp(s.Address(other), 30053)); err != nil {
					return fmt.Errorf("port of %s: %w", other, err)
				}
			}
			return nil
		})
	}
}

// networkdLeavesCilium starts systemd-networkd with a file for the interfaces of Cilium, as a file for
// all interfaces is one: they stay unmanaged.
func networkdLeavesCilium(s *harness.Site, node string) {
	s.T.Helper()
	// A host of the lab has no udev; networkd does not wait for it when /sys cannot be written.
	list := s.Shell(node, `mkdir -p /run/systemd/system/systemd-networkd.service.d /run/systemd/network
printf '[Service]\nReadOnlyPaths=/sys\n' >/run/systemd/system/systemd-networkd.service.d/lab.conf
printf '[Match]\nName=lxc* cilium_*\n[Network]\nDHCP=yes\n' >/run/systemd/network/10-all.network
systemctl daemon-reload && systemctl restart systemd-networkd && sleep 3
networkctl --no-legend list; systemctl stop systemd-networkd; rm /run/systemd/network/10-all.network`)
	found := 0
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		if len(f) < 5 || !strings.HasPrefix(f[1], "lxc") && !strings.HasPrefix(f[1], "cilium_") {
			continue
		}
		found++
		if f[4] != "unmanaged" {
			s.T.Errorf("systemd-networkd configures %s of %s: %s", f[1], node, line)
		}
	}
	if found < 4 {
		s.T.Errorf("%s has %d interfaces of Cilium, want 4 or more:\n%s", node, found, list)
	}
}
