//go:build lab

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

const (
	addonObjects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: prices}
data: {tea: "3"}
---
apiVersion: v1
kind: Secret
metadata: {name: code}
stringData: {code: hunter2hunter2}
---
apiVersion: example.org/v1
kind: Till
metadata: {name: first}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tills.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Till, plural: tills, singular: till}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
	addonWorkload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: till}
spec:
  selector: {matchLabels: {app: till}}
  template:
    metadata: {labels: {app: till}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: till, image: "registry.k8s.io/pause:3.10.1"}]
`
)

// addonChart are the files of a chart with a hook.
var addonChart = map[string]string{
	"Chart.yaml":            "{apiVersion: v2, name: bank, version: 1.0.0}\n",
	"values.yaml":           "limit: 1\n",
	"templates/limits.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}-limits}, data: {limit: {{ .Values.limit | quote }}}}\n",
	"templates/hook.yaml": `
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: "pre-install,pre-upgrade,pre-delete"}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      tolerations: [{operator: Exists}]
      containers: [{name: migrate, image: "registry.k8s.io/coredns/coredns:v1.14.7", command: [/coredns, -version]}]
`,
}

// TestAddons installs a cluster with an add-on, changes the add-on and removes it.
func TestAddons(t *testing.T) {
	s := harness.New(t, "addons", plan.Spec{Masters: 1})
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(filepath.Dir(s.Inventory), "shop", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("objects.yaml", addonObjects)
	write("workload.yaml", addonWorkload)
	for name, text := range addonChart {
		write("../bank/"+name, text)
	}
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster")["addons"] = []any{map[string]any{"name": "shop", "namespace": "shop", "manifests": []any{"shop"}, "timeout": "2m", "images": "deliver"},
			map[string]any{"name": "hours", "namespace": "shop", "kustomize": "overlay"},
			map[string]any{"name": "bank", "chart": "bank", "values": map[string]any{"limit": 2}}}
	})
	write("../overlay/kustomization.yaml", "namePrefix: my-\nconfigMapGenerator: [{name: hours, literals: [open=9]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n")
	s.Must("install")
	if got := s.Kubectl("m1", "-n shop get deployment till -o 'jsonpath={.status.availableReplicas}'"); got != "1" {
		t.Errorf("the run did not wait for the Deployment: %q", got)
	}
	if got := s.Kubectl("m1", "-n shop get configmap/prices configmap/my-hours secret/code till/first -o name"); strings.Count(got, "\n") != 3 {
		t.Errorf("objects %q", got)
	}
	s.RequireTexts(s.Must("install").All(), "0 changed")

	write("objects.yaml", strings.NewReplacer(`tea: "3"`, `tea: "4"`, "hunter2hunter2", "hunter3hunter3").Replace(addonObjects))
	s.Kubectl("m1", "-n shop scale deployment till --replicas 2")
	check := s.Run("plan", "install", "-i", s.Inventory)
	s.RequireTexts(check.All(), "ConfigMap shop/prices", `+  tea: "4"`, "Secret shop/code")
	if text := check.All(); strings.Contains(text, "hunter") || strings.Contains(text, "Deployment shop/till") {
		t.Errorf("a secret is shown, or the replicas that the manifest leaves out differ:\n%s", text)
	}
	s.Must("install")
	if got := s.Kubectl("m1", "-n shop get configmap prices -o 'jsonpath={.data.tea}'"); got != "4" {
		t.Errorf("the change was not applied: %q", got)
	}

	if got := s.Kubectl("m1", "get configmap/bank-limits job/migrate -o 'jsonpath={.items[*].data.limit} {.items[*].status.succeeded}'"); got != "2 1" {
		t.Errorf("the chart: %q", got)
	}

	write("objects.yaml", strings.Split(addonObjects, "---")[3])
	s.Must("install")
	if got := s.Kubectl("m1", "-n shop get configmap,secret,till -l deployer/addon=shop -o name"); got != "" {
		t.Errorf("objects that the add-on no longer contains: %q", got)
	}
	hook := s.Kubectl("m1", "get job migrate -o 'jsonpath={.metadata.uid}'")
	s.Edit(func(inv map[string]any) { delete(harness.Section(inv, "cluster"), "addons") })
	gone := s.Must("install")
	s.RequireTexts(gone.All(), "these objects, which stay", "CustomResourceDefinition tills.example.org")
	if got := s.Kubectl("m1", "get deployment,secret -A -l 'deployer/addon' -o name"); got != "" {
		t.Errorf("objects of the removed add-on: %q", got)
	}
	if got := s.Kubectl("m1", "get job migrate -o 'jsonpath={.metadata.uid} {.status.succeeded}'"); strings.HasPrefix(got, hook) || !strings.HasSuffix(got, " 1") {
		t.Errorf("the hook pre-delete has not run: its Job is %q, and was %q before", got, hook)
	}
	s.RequireTexts(s.Must("install").All(), "0 changed")
}
