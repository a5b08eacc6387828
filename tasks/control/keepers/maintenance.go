package keepers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/keeper/observe"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
)

// Maintenance is the action `node_maintenance`: it marks nodes on which somebody works, or removes the
// marks. While a mark holds and the host of the node answers, the keeper renews the Lease of the node for
// its kubelet, so that the pods of the node stay.
type Maintenance struct {
	Nodes  []string      `yaml:"nodes" rule:"node" required:"true" doc:"Names of the nodes."`
	For    time.Duration `yaml:"for" range:"0s..24h" doc:"Time after which the marks end; 0 removes them. Default 0."`
	By     string        `yaml:"by" rule:"line" doc:"Who works on the nodes. Default: the run."`
	Reason string        `yaml:"reason" rule:"line" doc:"Reason, for those who find the marks. Default: empty."`
}

// Check reads the marks. A mark that is renewed is a change.
func (m *Maintenance) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	var effects []engine.Effect
	for _, name := range m.Nodes {
		node, err := kube.GetNode(ctx, client, name)
		if err != nil {
			return engine.Change{}, err
		}
		effect := engine.Effect{Kind: engine.EffectObject, Target: "Node " + name, Action: "maintenance for " + m.For.String()}
		if m.For == 0 {
			if node.Annotations[observe.MaintenanceAnnotation] == "" {
				continue
			}
			effect.Action = "end the maintenance"
		}
		effects = append(effects, effect)
	}
	if len(effects) == 0 {
		return engine.NoChange(nil), nil
	}
	return engine.Changed(effects...), nil
}

// Apply sets or removes the marks.
func (m *Maintenance) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	var mark, label any // null removes them
	if m.For > 0 {
		text, err := json.Marshal(world.Maintenance{Until: time.Now().UTC().Truncate(time.Second).Add(m.For), By: cmp.Or(m.By, "run "+actx.RunID()), Reason: m.Reason})
		if err != nil {
			return nil, err
		}
		mark, label = string(text), "true"
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{observe.MaintenanceAnnotation: mark}, "labels": map[string]any{observe.MaintenanceLabel: label},
	}})
	if err != nil {
		return nil, err
	}
	for _, name := range m.Nodes {
		if _, err := client.Patch(ctx, kube.NodeKind(), "", name, patch, kube.Manager); err != nil {
			return nil, fmt.Errorf("marking node %s: %w", name, err)
		}
	}
	return nil, nil
}
