package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/sanitize"
	"deployer/keeper/decide"
	"deployer/keeper/observe"
	"deployer/tasks/control/hook"
	"deployer/tasks/control/kube"
)

// hookTarget is the node that a hook is about, as the body of a request.
type hookTarget struct {
	Node    string `json:"node"`
	Address string `json:"address"`
	Cluster string `json:"cluster"`
	Phase   string `json:"phase"`
}

func (t hookTarget) in(phase string) hookTarget {
	t.Phase = phase
	return t
}

// runHooks runs hooks in their order; it ends with the first that fails.
func runHooks(ctx context.Context, hooks []cluster.KeeperHookSpec, t hookTarget) error {
	body, err := json.Marshal(t)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		one := hook.Hook{Command: h.Command, Timeout: h.Timeout}
		if h.URL != "" {
			one.HTTP = &hook.Request{URL: h.URL, Headers: map[string]string{"Content-Type": "application/json"}, Body: string(body)}
		}
		if _, err := one.Run(ctx, []string{"DEPLOYER_NODE=" + t.Node, "DEPLOYER_ADDRESS=" + t.Address, "DEPLOYER_CLUSTER=" + t.Cluster, "DEPLOYER_PHASE=" + t.Phase}); err != nil {
			return fmt.Errorf("hook %q of %s: %w%s", h.Name, t.Phase, err, detail(err))
		}
	}
	return nil
}

// maxDetail is the maximum length of the reason that a hook has printed, in bytes.
const maxDetail = 200

// detail returns the first line that a hook which failed has printed, for the end of a message.
func detail(err error) string {
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok || failure.Detail == "" {
		return ""
	}
	return ": " + sanitize.FirstLine(sanitize.Text(failure.Detail), maxDetail)
}

// postAdd runs the hooks for a node that joined, and marks it. The UID in the patch makes the API refuse it when
// another Node has taken the name meanwhile.
func (a Actor) postAdd(ctx context.Context, action decide.Action) error {
	n := action.Node
	target := hookTarget{Node: n.Name, Address: n.Address, Cluster: a.Cluster}
	if err := runHooks(ctx, a.Settings.PostAdd, target.in("post_add")); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": n.UID, "annotations": map[string]any{observe.PostAddAnnotation: n.UID}}})
	if err != nil {
		return err
	}
	if _, err := a.Kube.Patch(ctx, kube.NodeKind(), "", n.Name, text, Manager); err != nil {
		return fmt.Errorf("the hooks of node %s have run; marking it: %w", n.Name, err)
	}
	return nil
}
