package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is the resource by which the API serves one kind of object.
type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// kinds maps kinds to resources. The usual kinds of Kubernetes are built in; for
// another kind the API is queried about its group only, so that no run begins with
// the discovery of a hundred groups.
type kinds struct {
	client *Client
	mu     sync.Mutex
	known  map[schema.GroupVersionKind]kind
}

func newKinds(c *Client) *kinds {
	k := &kinds{client: c, known: map[schema.GroupVersionKind]kind{}}
	for _, row := range builtinKinds() {
		gv := schema.GroupVersion{Group: row.group, Version: row.version}
		k.known[gv.WithKind(row.kind)] = kind{gv.WithResource(row.resource), row.namespaced}
	}
	return k
}

// find returns the resource of a kind. find fails with an *unknownKindError when the API
// does not serve the kind.
func (k *kinds) find(ctx context.Context, gvk schema.GroupVersionKind) (kind, error) {
	k.mu.Lock()
	found, ok := k.known[gvk]
	k.mu.Unlock()
	if ok {
		return found, nil
	}
	var list v1.APIResourceList
	if err := k.client.retry(ctx, func(ctx context.Context) error {
		return k.client.resources(ctx, gvk.GroupVersion(), &list)
	}); err != nil {
		return kind{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range list.APIResources {
		if !isSubresource(r.Name) {
			k.known[gvk.GroupVersion().WithKind(r.Kind)] = kind{gvk.GroupVersion().WithResource(r.Name), r.Namespaced}
		}
	}
	if found, ok = k.known[gvk]; !ok {
		return kind{}, &unknownKindError{gvk}
	}
	return found, nil
}

// unknownKindError reports that the API does not serve a kind (yet).
type unknownKindError struct{ gvk schema.GroupVersionKind }

func (e *unknownKindError) Error() string {
	if since := servedSince(e.gvk); since != "" {
		return fmt.Sprintf("the API does not serve kind %s of %s, which Kubernetes serves since %s; upgrade all API servers", e.gvk.Kind, e.gvk.GroupVersion(), since)
	}
	return fmt.Sprintf("the API does not know kind %s of %s; is its CustomResourceDefinition applied?", e.gvk.Kind, e.gvk.GroupVersion())
}

func isSubresource(name string) bool {
	for _, r := range name {
		if r == '/' {
			return true
		}
	}
	return false
}

// resources reads the resources of one group version.
func (c *Client) resources(ctx context.Context, gv schema.GroupVersion, into *v1.APIResourceList) error {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	status, body, err := c.Raw(ctx, "GET", path, nil)
	switch {
	case err != nil:
		return fmt.Errorf("reading the resources of %s from the API: %w", gv, err)
	case status == 404:
		return nil // an empty list
	case status != 200:
		// As an error of the API: a server that is busy or starts is asked again.
		err := apierrors.NewGenericServerResponse(status, "get", schema.GroupResource{}, "", http.StatusText(status), 0, false)
		return fmt.Errorf("reading the resources of %s from the API: HTTP status %d: %w", gv, status, err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading the resources of %s from the API: %w", gv, err)
	}
	return nil
}

type kindRow struct {
	group, version, kind, resource string
	namespaced                     bool
}

// builtinKinds returns the kinds of Kubernetes that manifests of a cluster usually
// contain.
func builtinKinds() []kindRow {
	return []kindRow{
		{"", "v1", "Namespace", "namespaces", false},
		{"", "v1", "Node", "nodes", false},
		{"", "v1", "PersistentVolume", "persistentvolumes", false},
		{"", "v1", "Pod", "pods", true},
		{"", "v1", "Service", "services", true},
		{"", "v1", "ServiceAccount", "serviceaccounts", true},
		{"", "v1", "ConfigMap", "configmaps", true},
		{"", "v1", "Event", "events", true},
		{"", "v1", "Secret", "secrets", true},
		{"", "v1", "Endpoints", "endpoints", true},
		{"", "v1", "LimitRange", "limitranges", true},
		{"", "v1", "ResourceQuota", "resourcequotas", true},
		{"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", true},
		{"apps", "v1", "Deployment", "deployments", true},
		{"apps", "v1", "DaemonSet", "daemonsets", true},
		{"apps", "v1", "StatefulSet", "statefulsets", true},
		{"apps", "v1", "ReplicaSet", "replicasets", true},
		{"batch", "v1", "Job", "jobs", true},
		{"batch", "v1", "CronJob", "cronjobs", true},
		{"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false},
		{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", false},
		{"rbac.authorization.k8s.io", "v1", "Role", "roles", true},
		{"rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", true},
		{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true},
		{"certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", false},
		{"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true},
		{"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", false},
		{"storage.k8s.io", "v1", "StorageClass", "storageclasses", false},
		{"storage.k8s.io", "v1", "CSIDriver", "csidrivers", false},
		{"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", true},
		{"networking.k8s.io", "v1", "Ingress", "ingresses", true},
		{"networking.k8s.io", "v1", "IngressClass", "ingressclasses", false},
		{"node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", false},
		{"coordination.k8s.io", "v1", "Lease", "leases", true},
		{"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", true},
		{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false},
		{"apiregistration.k8s.io", "v1", "APIService", "apiservices", false},
		{"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false},
		{"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", false},
		{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", false},
		{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", false},
	}
}

// TestLabel is the label of the objects that verify creates for its tests. A drain evicts
// such pods although no controller recreates them.
const TestLabel = "deployer/verify"
