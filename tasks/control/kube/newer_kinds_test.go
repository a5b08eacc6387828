package kube

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"deployer/engine"
	"deployer/tasks/control/kube/kubetest"
)

const (
	policies       = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
	policyBindings = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"

	account = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n"
	policy  = account + `---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: images}, spec: {failurePolicy: Ignore}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: images}, spec: {policyName: images}}
`
)

// TestRefusedDiscoveryIsAskedOnce checks that only errors that pass are waited for.
func TestRefusedDiscoveryIsAskedOnce(t *testing.T) {
	var asked atomic.Int32
	api := &kubetest.API{}
	api.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	_, err := serve(t, api).kinds.find(t.Context(), mutatingPolicyKind())
	if err == nil || !strings.Contains(err.Error(), "reading the resources of admissionregistration.k8s.io/v1 from the API: HTTP status 403") || asked.Load() != 1 {
		t.Errorf("%v, %d requests", err, asked.Load())
	}
}

// TestKindsOfNewerKubernetes applies a policy whose kind the API does not serve before an upgrade, and removes it again.
func TestKindsOfNewerKubernetes(t *testing.T) {
	var upgraded, busy atomic.Bool
	api := &kubetest.API{}
	api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/apis/admissionregistration.k8s.io/v1" {
			return false
		}
		if !busy.Swap(true) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		resources := `{"name":"validatingadmissionpolicies","kind":"ValidatingAdmissionPolicy"}`
		if upgraded.Load() {
			resources += `,{"name":"mutatingadmissionpolicies","kind":"MutatingAdmissionPolicy"},{"name":"mutatingadmissionpolicybindings","kind":"MutatingAdmissionPolicyBinding"}`
		}
		fmt.Fprintf(w, `{"resources":[%s]}`, resources)
		return true
	}
	check := func(dry bool, manifests string) (engine.Change, error) {
		s := newContext(t, api)
		s.Check = dry
		action := NewApplyManifests()
		action.Set, action.Content = "shop", manifests
		change, err := action.Check(t.Context(), s)
		if err == nil && change.Needed && !dry {
			_, err = action.Apply(t.Context(), s, change)
		}
		return change, err
	}

	if _, err := check(false, account); err != nil {
		t.Fatalf("a set without the policy, while the API server starts: %v", err)
	}
	change, err := check(true, policy)
	if err != nil || len(change.Effects) != 2 || change.Effects[0].Reason != "the API servers serve kind MutatingAdmissionPolicy since Kubernetes v1.36" {
		t.Errorf("dry run before the upgrade: %+v, %v", change.Effects, err)
	}
	if _, err := check(false, policy); err == nil || !strings.Contains(err.Error(), "which Kubernetes serves since v1.36; upgrade all API servers") {
		t.Errorf("before the upgrade: %v", err)
	}

	upgraded.Store(true)
	if change, err := check(true, policy); err != nil || len(change.Effects) != 2 || change.Effects[0].Reason != "" {
		t.Errorf("dry run after the upgrade: %+v, %v", change.Effects, err)
	}
	if _, err := check(false, policy); err != nil || api.Object(policies+"/images") == nil || api.Object(policyBindings+"/images") == nil {
		t.Errorf("after the upgrade: %v, objects %v", err, api.Paths())
	}
	if change, err := check(false, policy); err != nil || change.Needed {
		t.Errorf("again: %+v, %v", change, err)
	}
	if _, err := check(false, account); err != nil {
		t.Error(err)
	}
	writes := api.Writes()
	last := writes[len(writes)-2:]
	if last[0] != "DELETE "+policyBindings+"/images" || last[1] != "DELETE "+policies+"/images" {
		t.Errorf("the binding is not removed before the policy: %v", last)
	}
}
