// Package report tells what the keeper does: events of Kubernetes on the objects, and metrics for
// Prometheus.
package report

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
	"deployer/tasks/control/kube"
)

// Event writes an event of Kubernetes on an object that an action is about. Objects without a namespace have
// their events in namespace default, and nodes of which the keeper does not know the UID have their name for
// it, as kubelets do: kubectl describe shows both.
func Event(ctx context.Context, c *kube.Client, host string, o decide.Object, e actionlog.Entry) error {
	kind := "Normal"
	if e.Failed() {
		kind = "Warning"
	}
	involved := map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "name": o.Name, "uid": cmp.Or(o.UID, o.Name)}
	if o.Namespace != "" {
		involved["namespace"] = o.Namespace
	}
	stamp := e.Time.UTC().Format(time.RFC3339)
	return c.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"namespace": cmp.Or(o.Namespace, "default"), "name": fmt.Sprintf("%s.%x", o.Name, e.Time.UnixNano())},
		"involvedObject": involved,
		"type":           kind, "reason": e.Action, "message": message(e),
		"source":         map[string]any{"component": "deployer-keeper", "host": host},
		"firstTimestamp": stamp, "lastTimestamp": stamp, "count": int64(1),
		"reportingComponent": "deployer-keeper", "reportingInstance": host,
	}})
}

// maxMessage is the maximum length of an event's message in bytes, which the API refuses to exceed
// (k8s.io/kubernetes/pkg/apis/core/validation, NoteLengthLimit).
const maxMessage = 1024

func message(e actionlog.Entry) string {
	return actionlog.Cut(e.Result+": "+e.Why, maxMessage)
}
