//go:build lab

package networks

import (
	"path/filepath"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// kubeRouterModule is the Go module of kube-router.
const kubeRouterModule = "github.com/cloudnativelabs/kube-router/v2"

// TestKubeRouter installs a cluster whose network is kube-router: the manifest of its release, with
// the settings of examples/kube-router, as an add-on. A node joins, policies are enforced, and
// Kubernetes is upgraded.
func TestKubeRouter(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 3})
	example := copyExample(s, "kube-router")
	images := filepath.Join(example, "images")
	buildImages(t, images, "kube-router")
	extract(t, moduleArchive(t, filepath.Join(images, "kube-router"), kubeRouterModule), "daemonset/kubeadm-kuberouter.yaml", filepath.Join(example, "network"))

	n3 := s.Address("n3")
	s.Edit(func(inv map[string]any) {
		cluster := harness.Section(inv, "cluster")
		cluster["kubernetes"] = "v1.35.4"
		harness.Section(cluster, "network")["plugin"] = "none"
		cluster["addons"] = []any{map[string]any{"name": "kube-router", "kustomize": "kube-router/network", "network": true, "images": "deliver"}}
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
	s.RequireSchedulable("n3", "after it has joined")
	requireNetwork(s, "4 nodes, no problems")
	policies(s, startPods(s))

	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster")["kubernetes"] = "v1.36.3" })
	s.Must("upgrade")
	s.RequireReady([]string{"m1", "n1", "n2", "n3"})
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
}
