package agent

import (
	"context"
	"slices"

	"deployer/engine"
)

// rolloutRecordModule is the agent's own module that records which rollouts the host has
// begun and not ended, beside the pending handlers.
type rolloutRecordModule struct {
	engine.RolloutRecord
	step *stepRun
}

var _ engine.Module = (*rolloutRecordModule)(nil)

// Check reports whether the record differs.
func (p *rolloutRecordModule) Check(context.Context, engine.System) (engine.Change, error) {
	pending, err := p.step.server.state.PendingHandlers()
	return engine.Change{Needed: slices.Contains(pending, p.Rollout) == p.Done}, err
}

// Apply writes the record.
func (p *rolloutRecordModule) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	if p.Done {
		return nil, p.step.server.state.RemovePendingHandler(p.Rollout)
	}
	return nil, p.step.server.state.AddPendingHandlers([]string{p.Rollout})
}
