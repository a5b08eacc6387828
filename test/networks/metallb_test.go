//go:build lab

package networks

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// metalLBModule is the Go module of MetalLB, which has its chart.
const metalLBModule = "go.universe.tf/metallb"

// TestChartOfMetalLB installs the chart of MetalLB's release, unchanged, with the values of
// examples/metallb, and a pool of addresses that MetalLB's webhook checks. A Service gets an address
// that a host without a role reaches; a change of a value is an upgrade that keeps the address; and
// nothing but the definitions of kinds stays when the add-ons are removed.
func TestChartOfMetalLB(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 1, Hosts: 1})
	example := copyExample(s, "metallb")
	images := filepath.Join(example, "images")
	buildImages(t, images, "metallb-controller", "metallb-speaker")
	extract(t, moduleArchive(t, filepath.Join(images, "metallb"), metalLBModule), "charts/metallb", filepath.Join(example, "charts"))

	setLevel := func(level string) {
		s.Edit(func(inv map[string]any) {
			harness.Section(inv, "cluster")["addons"] = []any{
				map[string]any{"name": "namespace", "manifests": []any{"metallb/namespace"}},
				map[string]any{
					"name": "metallb", "namespace": "metallb-system", "images": "deliver", "chart": "metallb/charts/metallb",
					"values_files": []any{"metallb/values.yaml"}, "values": map[string]any{"speaker": map[string]any{"logLevel": level}},
				},
				map[string]any{"name": "addresses", "namespace": "metallb-system", "manifests": []any{"metallb/pool"}},
			}
		})
	}
	setLevel("info")
	s.Must("install")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
	s.Must("verify")

	s.Kubectl("m1", "-n kube-system expose deployment coredns --name dns-outside --type LoadBalancer --protocol TCP --port 53 --target-port 53 --labels app=dns-outside")
	address := func() string {
		return s.Kubectl("m1", "-n kube-system get service dns-outside -o 'jsonpath={.status.loadBalancer.ingress[0].ip}'")
	}
	reached := func(after string) {
		t.Helper()
		s.Eventually(time.Minute, "h1 reaches the Service "+after, func() error {
			got := address()
			if !strings.HasPrefix(got, "172.31.0.2") {
				return fmt.Errorf("its address is %q", got)
			}
			_, err := s.SSH(t.Context(), "h1", "timeout 2 bash -c '</dev/tcp/"+got+"/53'")
			return err
		})
	}
	reached("after the installation")
	before := address()

	setLevel("warn")
	s.RequireTexts(s.Run("plan", "install", "-i", s.Inventory).All(), "DaemonSet metallb-system/metallb-speaker", "--log-level=warn")
	s.Must("install")
	reached("after an upgrade of the chart")
	if after := address(); after != before {
		t.Errorf("the Service has the address %s, and had %s", after, before)
	}

	s.Kubectl("m1", "-n kube-system delete service dns-outside")
	s.Edit(func(inv map[string]any) { delete(harness.Section(inv, "cluster"), "addons") })
	// A definition that stays has a conversion webhook of the controller, which is gone.
	removed := s.Deployer("install")
	s.RequireExit(removed, problems)
	s.RequireTexts(removed.All(), "these objects, which stay", "CustomResourceDefinition ipaddresspools.metallb.io", "webhook of conversion bgppeers.metallb.io", "its Service metallb-system/metallb-webhook-service does not exist")
	if left := s.Kubectl("m1", "get deployments,daemonsets,secrets,serviceaccounts,validatingwebhookconfigurations,ipaddresspools,l2advertisements -A -l deployer/addon -o name"); left != "" {
		t.Errorf("objects that stayed: %q", left)
	}
	s.Kubectl("m1", "delete customresourcedefinition bgppeers.metallb.io")
	s.RequireTexts(s.Must("install").All(), "0 changed")
}
