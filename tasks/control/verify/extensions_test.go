package verify

import (
	"fmt"
	"strings"
	"testing"

	"deployer/tasks/control/report"
)

// object stores an object of the API server.
func (w *fakeCluster) object(path, version, kind, name string, more map[string]any) {
	o := map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name}}
	for key, value := range more {
		o[key] = value
	}
	if i := strings.Index(path, "/namespaces/"); i >= 0 {
		o["metadata"].(map[string]any)["namespace"] = strings.Split(path[i+len("/namespaces/"):], "/")[0]
	}
	w.api.Put(path, o)
}

func (w *fakeCluster) webhook(configuration, service, policy string) {
	w.object("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/"+configuration, "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", configuration, map[string]any{
		"webhooks": []any{map[string]any{"name": configuration + ".lund.example", "failurePolicy": policy,
			"clientConfig": map[string]any{"service": map[string]any{"namespace": "shop", "name": service}},
			"rules":        []any{map[string]any{"operations": []any{"CREATE"}, "resources": []any{"pods"}}}}},
	})
}

func (w *fakeCluster) service(name string, ready any) {
	w.object("/api/v1/namespaces/shop/services/"+name, "v1", "Service", name, map[string]any{"spec": map[string]any{}})
	if ready != nil {
		slice := map[string]any{"endpoints": []any{map[string]any{"conditions": map[string]any{"ready": ready}}}}
		w.object("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/"+name, "discovery.k8s.io/v1", "EndpointSlice", name, slice)
		o := w.api.Object("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/" + name)
		o["metadata"].(map[string]any)["labels"] = map[string]any{"kubernetes.io/service-name": name}
		w.api.Put("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/"+name, o)
	}
}

// definition stores a CustomResourceDefinition whose conversion calls a Service.
func (w *fakeCluster) definition(name, service, strategy string, versions []any, stored ...any) {
	client := map[string]any{"url": "https://192.0.2.1/convert"}
	if service != "" {
		client = map[string]any{"service": map[string]any{"namespace": "shop", "name": service}}
	}
	w.object("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name, "apiextensions.k8s.io/v1", "CustomResourceDefinition", name, map[string]any{
		"spec":   map[string]any{"versions": versions, "conversion": map[string]any{"strategy": strategy, "webhook": map[string]any{"clientConfig": client}}},
		"status": map[string]any{"storedVersions": stored},
	})
}

func version(name string, served, storage bool) map[string]any {
	return map[string]any{"name": name, "served": served, "storage": storage, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}
}

// TestExtensions: each registration whose backend is gone is a row with its mend, and those that
// harm nobody are none.
func TestExtensions(t *testing.T) {
	w := newFakeCluster(t, "n1")
	for name, status := range map[string]string{"v1.apps": "True", "v1beta1.metrics.k8s.io": "False", "v2.new": "Unknown"} {
		w.object("/apis/apiregistration.k8s.io/v1/apiservices/"+name, "apiregistration.k8s.io/v1", "APIService", name, map[string]any{
			"spec":   map[string]any{"service": map[string]any{"namespace": "shop", "name": "metrics"}},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": status, "reason": "MissingEndpoints", "message": "no endpoints"}}},
		})
	}
	w.service("up", true)
	w.service("starting", false)
	w.service("empty", nil)
	w.webhook("fine", "up", "Fail")
	w.webhook("gone", "none", "Fail")
	w.webhook("unready", "starting", "Fail")
	w.webhook("hollow", "empty", "Fail")
	w.webhook("lenient", "none", "Ignore")
	served := []any{version("v1beta1", true, false), version("v1", true, true)}
	w.definition("gone.shop.example", "none", "Webhook", served)
	w.definition("fine.shop.example", "up", "Webhook", served)
	w.definition("plain.shop.example", "none", "None", served)
	w.definition("single.shop.example", "none", "Webhook", []any{version("v1alpha1", false, false), version("v1", true, true)})
	w.definition("stored.shop.example", "empty", "Webhook", []any{version("v1beta1", false, false), version("v1", true, true)}, "v1beta1", "v1")
	w.definition("outside.shop.example", "", "Webhook", served)
	got := map[string]report.Row{}
	for _, r := range Extensions(t.Context(), w.client) {
		got[r.Check] = r
		if r.OK {
			t.Errorf("row %+v beside problems of its kind", r)
		}
	}
	for check, want := range map[string][2]string{
		"APIService v1beta1.metrics.k8s.io": {"MissingEndpoints: no endpoints", "kubectl delete apiservice v1beta1.metrics.k8s.io"},
		"webhook gone.lund.example":         {"Service shop/none does not exist: the API server refuses CREATE of pods", "kubectl delete validatingwebhookconfiguration gone"},
		"webhook unready.lund.example":      {"Service shop/starting has no ready endpoint", "validatingwebhookconfiguration unready"},
		"webhook hollow.lund.example":       {"Service shop/empty has no ready endpoint", "validatingwebhookconfiguration hollow"},
		"webhook of conversion gone.shop.example": {"its Service shop/none does not exist: the API server cannot convert objects of the versions v1beta1 from and to v1",
			`kubectl patch crd gone.shop.example --type merge -p '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'`},
		"webhook of conversion stored.shop.example": {"its Service shop/empty has no ready endpoint: the API server cannot convert objects of the versions v1beta1", "start its backend"},
	} {
		if r := got[check]; !strings.Contains(r.Detail, want[0]) || !strings.Contains(r.Fix, want[1]) {
			t.Errorf("%s: %+v, want %q", check, r, want)
		}
		delete(got, check)
	}
	for check, r := range got {
		t.Errorf("unexpected row %s: %+v", check, r)
	}
}

// TestExtensionsWithoutProblems: a healthy cluster has one row for each kind.
func TestExtensionsWithoutProblems(t *testing.T) {
	w := newFakeCluster(t, "n1")
	w.service("up", true)
	w.webhook("fine", "up", "Fail")
	const definitions = 45 // more than two pages
	for i := range definitions {
		w.definition(fmt.Sprintf("d%d.shop.example", i), "up", "Webhook", []any{version("v1beta1", true, false), version("v1", true, true)})
	}
	rows := Extensions(t.Context(), w.client)
	if len(rows) != 3 || !rows[0].OK || !rows[1].OK || rows[1].Detail != "1 with a backend" || !rows[2].OK || rows[2].Detail != "45 with a backend" {
		t.Errorf("rows %+v", rows)
	}
}

// TestReservedContainerName: the advice ends the container that has the name.
func TestReservedContainerName(t *testing.T) {
	const id = "97183281b2c7d5f0a1e2"
	problem := `not Ready: CreateContainerError failed to reserve container name "kube-scheduler_kube-scheduler-m2_kube-system_5d_1": name "kube-scheduler_kube-scheduler-m2_kube-system_5d_1" is reserved for "` + id + `"`
	if got := staticPodAdvice("kube-scheduler", "m2", problem); !strings.Contains(got, "ctr -n k8s.io tasks kill -s KILL "+id) {
		t.Errorf("advice %q", got)
	}
	if got := staticPodAdvice("kube-scheduler", "m2", "not Ready: probe failed"); strings.Contains(got, "crictl") || !strings.Contains(got, "/var/log/pods/kube-system_kube-scheduler-m2_") {
		t.Errorf("advice %q", got)
	}
}
