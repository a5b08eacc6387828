package verify

import (
	"context"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/tasks/control/kube"
)

// backends finds out which Services of webhooks answer nobody. It asks once for each Service.
type backends struct {
	client *kube.Client
	known  map[string]string // by NAMESPACE/NAME: why it answers nobody
}

// missing returns why a Service answers nobody; empty when it has a ready endpoint, or endpoints
// outside of the cluster.
func (b *backends) missing(ctx context.Context, namespace, name string) (string, error) {
	key := namespace + "/" + name
	why, known := b.known[key]
	if known {
		return why, nil
	}
	why, err := missingBackend(ctx, b.client, namespace, name)
	if err == nil {
		b.known[key] = why
	}
	return why, err
}

// missingBackend returns why a Service answers nobody; empty when it has a ready endpoint, or
// endpoints outside of the cluster.
func missingBackend(ctx context.Context, c *kube.Client, namespace, name string) (string, error) {
	service, err := c.Get(ctx, kube.ServiceKind(), namespace, name)
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("its Service %s/%s does not exist", namespace, name), nil
	}
	if err != nil {
		return "", fmt.Errorf("reading Service %s/%s: %w", namespace, name, err)
	}
	if kind, _, _ := unstructured.NestedString(service.Object, "spec", "type"); kind == "ExternalName" {
		return "", nil
	}
	slices, err := c.List(ctx, schema.GroupVersionKind{Group: discoveryv1.GroupName, Version: "v1", Kind: "EndpointSlice"}, namespace,
		v1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name})
	if err != nil {
		return "", fmt.Errorf("reading the endpoints of Service %s/%s: %w", namespace, name, err)
	}
	for i := range slices {
		var one discoveryv1.EndpointSlice
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(slices[i].Object, &one); err != nil {
			continue
		}
		for _, e := range one.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return "", nil
			}
		}
	}
	return fmt.Sprintf("its Service %s/%s has no ready endpoint", namespace, name), nil
}
