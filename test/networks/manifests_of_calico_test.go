//go:build lab

package networks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// calicoPins has the go.mod and go.sum of the Calico that deployer builds.
const calicoPins = "../../images/build/modules/calico-v3.28.4"

// TestManifestsOfCalico installs a cluster whose network is Calico as its users bring it: the
// manifest of the release for VXLAN, with the settings of examples/calico-manifests, as an add-on. A
// node joins, policies are enforced, and a change of the add-on starts every calico-node anew while
// pods of two nodes ping each other.
func TestManifestsOfCalico(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3})
	network := filepath.Join(copyExample(s, "calico-manifests"), "network")
	extract(t, moduleArchive(t, embeddedPins(t, calicoPins), "github.com/projectcalico/calico"), "manifests/calico-vxlan.yaml", network)

	n3 := s.Address("n3")
	s.Edit(func(inv map[string]any) {
		cluster := harness.Section(inv, "cluster")
		harness.Section(cluster, "network")["plugin"] = "none"
		cluster["addons"] = []any{map[string]any{"name": "calico", "kustomize": "calico-manifests/network", "network": true, "images": "deliver"}}
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1", "n2"}}
		delete(harness.Section(inv, "hosts"), "n3")
	})
	s.Must("install")
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
	requireNetwork(s, "pod network none", "3 nodes, no problems")

	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "hosts")["n3"] = map[string]any{"address": n3}
		harness.Section(inv, "roles")["minion"] = []any{"n1", "n2", "n3"}
	})
	s.Must("scale-up")
	s.RequireReady([]string{"m1", "n1", "n2", "n3"})
	pods := startPods(s)
	policies(s, pods)

	pings := []*pinger{startPing(s, "n2", pods["n1"]), startPing(s, "n3", pods["m1"])}
	before := s.Shell("n1", started)
	file := filepath.Join(network, "kustomization.yaml")
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const pool = "{name: CALICO_IPV4POOL_CIDR, value: 10.244.0.0/16}"
	changed := strings.Replace(string(settings), pool, pool+", {name: FELIX_LOGSEVERITYSCREEN, value: Warning}", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	s.RequireTexts(s.Run("plan", "install", "-i", s.Inventory).All(), "DaemonSet kube-system/calico-node", "FELIX_LOGSEVERITYSCREEN")
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
}

// embeddedPins returns a directory with the pins of a module set of the project, whose names end in
// .txt there.
func embeddedPins(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(from, name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
