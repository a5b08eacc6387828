package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/engine"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
)

// ExtensionsTask is the action `verify_extensions`: it checks what other programs have registered
// with the API server.
type ExtensionsTask struct{}

// Check returns the rows of [Extensions].
func (*ExtensionsTask) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	_, client, err := tools(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(report.Output(Extensions(ctx, client))), nil
}

// Apply is never needed.
func (*ExtensionsTask) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// Names of the checks of extensions.
const (
	checkAPIServices = "APIServices"
	checkWebhooks    = "webhooks"
	checkConversions = "webhooks of conversions"
)

// Extensions checks the registrations that break every cluster whose backend is gone: APIServices
// that are not available, without which no namespace is deleted, and webhooks of admission and of
// conversion without a backend, because of which the API server refuses requests. There are no
// rows when no API server is ready: [Cluster] says so.
func Extensions(ctx context.Context, c *kube.Client) []report.Row {
	if _, ok := c.FindReady(ctx); !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	b := &backends{client: c, known: map[string]string{}}
	return slices.Concat(apiServices(ctx, c), webhooks(ctx, c, b), conversions(ctx, c, b))
}

func apiServiceKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
}

func apiServices(ctx context.Context, c *kube.Client) []report.Row {
	items, err := c.List(ctx, apiServiceKind(), "", v1.ListOptions{})
	if err != nil {
		return []report.Row{report.Bad(checkAPIServices, "", "%v", err)}
	}
	var rows []report.Row
	for i := range items {
		if why := unavailable(&items[i]); why != "" {
			rows = append(rows, report.Bad("APIService "+items[i].GetName(), "", "not available: %s; no namespace can be deleted until it is", why).
				Advised(fmt.Sprintf("start its backend %s, or remove the registration: kubectl delete apiservice %s", backendOf(&items[i]), items[i].GetName())))
		}
	}
	if len(rows) == 0 {
		rows = append(rows, report.OK(checkAPIServices, "", "%d available", len(items)))
	}
	return rows
}

// unavailable returns why an APIService is not available; empty when it is, or when nobody has
// looked yet.
func unavailable(o *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		if c["type"] == "Available" && c["status"] == "False" {
			return strings.TrimSpace(fmt.Sprint(c["reason"], ": ", c["message"]))
		}
	}
	return ""
}

func backendOf(o *unstructured.Unstructured) string {
	namespace, _, _ := unstructured.NestedString(o.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(o.Object, "spec", "service", "name")
	return "Service " + namespace + "/" + name
}
