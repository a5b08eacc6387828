package act

import (
	"context"
	"encoding/json"
	"fmt"

	"deployer/cluster"
	"deployer/tasks/control/hook"
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
			return fmt.Errorf("hook %q of %s: %w", h.Name, t.Phase, err)
		}
	}
	return nil
}
