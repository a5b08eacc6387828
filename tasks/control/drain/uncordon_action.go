package drain

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"deployer/engine"
	"deployer/tasks/control/kube"
)

// UncordonAction is the action `kube_uncordon`.
type UncordonAction struct {
	Node    string        `yaml:"node" rule:"node" doc:"Node to uncordon; default: the host's own."`
	Ready   bool          `yaml:"ready" doc:"Wait first until the node is Ready and its kubelet has renewed its Lease; otherwise the node stays cordoned and the task fails. Default true."`
	Timeout time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait for Ready and for an answer of the API; default 5m."`
	Force   bool          `yaml:"force" doc:"Uncordon a node that somebody else has cordoned too. Default false."`
}

// NewUncordonAction returns the action with its defaults.
func NewUncordonAction() *UncordonAction {
	return &UncordonAction{Ready: true, Timeout: 5 * time.Minute}
}

// Check reports a node that deployer has cordoned or, in a dry run, would have. Check waits
// for a node that another user has cordoned, and leaves it so.
func (u *UncordonAction) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	client, err := u.client(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	name := nodeOf(u.Node, actx)
	dry := actx.CheckOnly()
	node, err := kube.GetNode(ctx, client, name)
	if dry && apierrors.IsNotFound(err) {
		return engine.Change{}, nil // it registers in the run
	}
	if err != nil {
		return engine.Change{}, err
	}
	is := CordonOf(node)
	foreseen := dry && settled(actx, name)
	out := engine.Output{"node": name, "still_cordoned": is == Foreign && !u.Force}
	if is == Ours || (is == Foreign || is == Rebooting) && u.Force || is == Open && foreseen {
		change := engine.Changed(engine.Effect{Kind: engine.EffectObject, Target: targetOf(u.Node), Action: "make schedulable again"})
		change.Output = out
		return change, nil
	}
	change := engine.NoChange(out)
	if is == Open || is == Rebooting { // the host of a node that reboots uncordons it
		return change, nil
	}
	change.Effects = []engine.Effect{{Kind: engine.EffectShow, Target: targetOf(u.Node), Diff: fmt.Sprintf(
		"node %s stays cordoned: somebody else did that, not deployer; to uncordon it: force: true, or kubectl uncordon %s", name, name)}}
	if u.Ready && !dry {
		err = kube.WaitReady(ctx, client, []string{name}, 1, u.Timeout, actx.Progress)
	}
	return change, err
}

// Apply waits for the node and uncordons it.
func (u *UncordonAction) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	client, err := u.client(ctx, actx)
	if err != nil {
		return nil, err
	}
	name := nodeOf(u.Node, actx)
	if u.Ready {
		if err := WaitAlive(ctx, client, name, u.Timeout, actx.Progress); err != nil {
			return nil, fmt.Errorf("%w; it stays cordoned; when it is healthy, run kubectl uncordon %s", err, name)
		}
	}
	if _, err := Uncordon(ctx, client, name, u.Force); err != nil {
		return nil, err
	}
	settled(actx, name)
	return nil, nil
}

// client returns a client that retries as long as the task may wait: after the reboot of
// a single master the API is unavailable for a while.
func (u *UncordonAction) client(ctx context.Context, actx engine.ActionContext) (*kube.Client, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil || actx.CheckOnly() {
		return client, err
	}
	return client.WithRetryTimeout(u.Timeout), nil
}

// Gate works like the action, because the reverted run may have left the node cordoned.
func (u *UncordonAction) Gate() any { return u }
