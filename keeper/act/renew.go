package act

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"deployer/keeper/world"
	"deployer/tasks/control/kube"
)

// leaseNamespace has the Leases of kubelets (kubernetes.io/docs/concepts/architecture/leases).
const leaseNamespace = "kube-node-lease"

// Renew renews the Lease of a node on behalf of its kubelet. A node that is Unknown already becomes
// Ready again: the node controller sets Unknown and never resets it.
func Renew(ctx context.Context, c *kube.Client, n world.Node, now time.Time) error {
	lease := map[string]any{"spec": map[string]any{"renewTime": now.UTC().Format("2006-01-02T15:04:05.000000Z07:00")}}
	text, err := json.Marshal(lease)
	if err != nil {
		return err
	}
	if _, err := c.Patch(ctx, kube.LeaseKind(), leaseNamespace, n.Name, text, Manager); err != nil {
		return fmt.Errorf("renewing the Lease of node %s: %w", n.Name, err)
	}
	if n.Ready != world.Unknown {
		return nil
	}
	stamp := now.UTC().Format(time.RFC3339)
	err = c.PatchStatus(ctx, kube.NodeKind(), "", n.Name, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": "Ready", "status": "True", "reason": "NodeMaintenance", "lastHeartbeatTime": stamp, "lastTransitionTime": stamp,
		"message": "the kubelet is away; in maintenance until " + n.Maintenance.Until.UTC().Format(time.RFC3339) + " by " + n.Maintenance.By,
	}}}})
	if err != nil {
		return fmt.Errorf("setting the status of node %s: %w", n.Name, err)
	}
	return nil
}
