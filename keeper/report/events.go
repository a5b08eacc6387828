// Package report tells what the keeper does: events of Kubernetes on the objects, and metrics for
// Prometheus.
package report

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/keeper/decide"
	"deployer/keeper/status"
	"deployer/tasks/control/kube"
)

// Event writes an event of Kubernetes about an action. Objects without a namespace have their events in
// namespace default, as those of kubelets.
func Event(ctx context.Context, c *kube.Client, host string, a decide.Action, d status.Done) error {
	namespace, kind := a.Object.Namespace, "Normal"
	if namespace == "" {
		namespace = "default"
	}
	if d.Result != status.ResultDone && d.Result != status.ResultDryRun {
		kind = "Warning"
	}
	if a.Object.APIVersion == "" { // etcd is no object of Kubernetes
		return nil
	}
	involved := map[string]any{"apiVersion": a.Object.APIVersion, "kind": a.Object.Kind, "name": a.Object.Name, "uid": a.Object.UID}
	if a.Object.Namespace != "" {
		involved["namespace"] = a.Object.Namespace
	}
	stamp := d.Time.UTC().Format(time.RFC3339)
	return c.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"namespace": namespace, "name": fmt.Sprintf("%s.%x", a.Object.Name, d.Time.UnixNano())},
		"involvedObject": involved,
		"type":           kind, "reason": string(a.Kind), "message": d.Result + ": " + d.Why,
		"source":         map[string]any{"component": "deployer-keeper", "host": host},
		"firstTimestamp": stamp, "lastTimestamp": stamp, "count": int64(1),
		"reportingComponent": "deployer-keeper", "reportingInstance": host,
	}})
}
