package drain

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"deployer/engine"
	"deployer/tasks/control/kube"
)

// CordonAction is the action `kube_cordon`. Several nodes that are to be drained are
// cordoned first, so that no pod moves from one of them to another.
type CordonAction struct {
	Node      string `yaml:"node" doc:"Node to cordon; default: the host's own."`
	MissingOK bool   `yaml:"missing_ok" doc:"Do nothing when there is no such node. Default false."`
}

// Check reports a node that accepts pods.
func (a *CordonAction) Check(ctx context.Context, site engine.ActionContext) (engine.Change, error) {
	client, err := kube.Open(ctx, site)
	if err != nil {
		return engine.Change{}, err
	}
	name := nodeOf(a.Node, site)
	node, err := kube.GetNode(ctx, client, name)
	if a.MissingOK && apierrors.IsNotFound(err) {
		return engine.Change{}, nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	is := CordonOf(node)
	if is == Ours || site.CheckOnly() && is == Open {
		pledge(site, client, name)
	}
	if is != Open {
		return engine.NoChange(engine.Output{"node": name}), nil
	}
	change := engine.Changed(engine.Effect{Kind: engine.EffectObject, Target: targetOf(a.Node), Action: "cordon"})
	change.Output = engine.Output{"node": name}
	return change, nil
}

// Apply cordons the node. The engine uncordons it when its host leaves the run before the
// end, as after kube_drain.
func (a *CordonAction) Apply(ctx context.Context, site engine.ActionContext, _ engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, site)
	if err != nil {
		return nil, err
	}
	name := nodeOf(a.Node, site)
	pledge(site, client, name)
	if _, err := cordon(ctx, client, name, site.RunID()); err != nil {
		return nil, fmt.Errorf("cordoning node %s: %w", name, err)
	}
	return engine.Output{"node": name}, nil
}
