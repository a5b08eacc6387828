//go:build lab

package networks

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// gatekeeperModule is the Go module of Gatekeeper, which has its chart.
const gatekeeperModule = "github.com/open-policy-agent/gatekeeper/v3"

// TestChartOfGatekeeper installs the chart of Gatekeeper's release, unchanged, with the values of
// examples/gatekeeper: its hooks run, its webhook refuses what a constraint forbids, a change of a
// value is an upgrade, and nothing but the definitions of kinds stays when the add-ons are removed.
func TestChartOfGatekeeper(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 1})
	example := copyExample(s, "gatekeeper")
	images := filepath.Join(example, "images")
	buildImages(t, images, "gatekeeper", "gatekeeper-crds", "curl")
	extract(t, moduleArchive(t, filepath.Join(images, "gatekeeper"), gatekeeperModule), "charts/gatekeeper", filepath.Join(example, "charts"))

	values := map[string]any{"auditInterval": 300}
	setLevel := func(level string) {
		values["logLevel"] = level
		s.Edit(func(inv map[string]any) {
			harness.Section(inv, "cluster")["addons"] = []any{
				map[string]any{
					"name": "gatekeeper", "namespace": "gatekeeper-system", "images": "deliver", "chart": "gatekeeper/charts/gatekeeper",
					"values_files": []any{"gatekeeper/values.yaml"}, "values": values,
				},
				map[string]any{"name": "policies", "manifests": []any{"gatekeeper/policies"}},
			}
		})
	}
	// The binding of a hook of the removal names no account: the API refuses it, and the first run says so.
	values["preUninstall"] = map[string]any{"deleteWebhookConfigurations": map[string]any{"name": ""}}
	setLevel("INFO")
	o := s.Deployer("install")
	if o.Code == 0 {
		t.Errorf("a hook that the API refuses is installed:\n%s", o.All())
	}
	s.RequireTexts(o.All(), "hook pre-delete, ClusterRoleBinding", "subjects[0].name: Required value")
	delete(values, "preUninstall")
	setLevel("INFO")
	s.Must("install")
	requireHooks := func(when string, want map[string]int) {
		t.Helper()
		got := s.Kubectl("m1", `-n gatekeeper-system get events --field-selector reason=Completed,involvedObject.kind=Job -o 'jsonpath={range .items[*]}{.involvedObject.name}{"\n"}{end}'`)
		for job, runs := range want {
			ran := slices.DeleteFunc(strings.Fields(got), func(name string) bool { return name != job })
			if n := len(ran); n != runs {
				t.Errorf("%s: hook %s has run %d times, want %d:\n%s", when, job, n, runs, got)
			}
		}
	}
	requireHooks("after install", map[string]int{"gatekeeper-update-crds-hook": 1, "gatekeeper-update-namespace-label": 1, "gatekeeper-delete-webhook-configs": 0})
	if got := s.Kubectl("m1", "-n gatekeeper-system get jobs -o name"); got != "" {
		t.Errorf("Jobs of hooks that succeeded: %q", got)
	}
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
	s.Must("verify")

	create := "create namespace without-owner"
	s.Eventually(time.Minute, "the webhook refuses a namespace without owner", func() error {
		out, err := s.SSH(t.Context(), "m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf "+create+" --dry-run=server 2>&1")
		if err == nil || !strings.Contains(out+err.Error(), "the label owner is missing") {
			return errors.New("kubectl says " + out)
		}
		return nil
	})

	setLevel("WARNING")
	s.RequireTexts(s.Run("plan", "install", "-i", s.Inventory).All(), "Deployment gatekeeper-system/gatekeeper-audit", "--log-level=WARNING", "run hook pre-upgrade")
	s.Must("install")
	if args := s.Kubectl("m1", "-n gatekeeper-system get deployment gatekeeper-audit -o 'jsonpath={.spec.template.spec.containers[0].args}'"); !strings.Contains(args, "--log-level=WARNING") {
		t.Errorf("the arguments are %s", args)
	}

	requireHooks("after the upgrade", map[string]int{"gatekeeper-update-crds-hook": 2, "gatekeeper-update-namespace-label-post-upgrade": 1, "gatekeeper-delete-webhook-configs": 0})
	s.RequireTexts(s.Must("install").All(), "0 changed")

	s.Edit(func(inv map[string]any) { delete(harness.Section(inv, "cluster"), "addons") })
	s.RequireTexts(s.Must("install").All(), "these objects, which stay", "CustomResourceDefinition constrainttemplates.templates.gatekeeper.sh")
	requireHooks("after the removal", map[string]int{"gatekeeper-delete-webhook-configs": 1})
	if left := s.Kubectl("m1", "get deployments,secrets,serviceaccounts,validatingwebhookconfigurations,mutatingwebhookconfigurations -A -l deployer/addon -o name"); left != "" {
		t.Errorf("objects that stayed: %q", left)
	}
	s.Kubectl("m1", create)
	s.RequireTexts(s.Must("install").All(), "0 changed")
}
