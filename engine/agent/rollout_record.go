package agent

import (
	"context"
	"slices"

	"deployer/engine"
)

// rolloutRecordModule is the agent's own module that records which rollouts the host has
// begun and not ended, beside the pending handlers, and what the host does when it loses the
// controller meanwhile.
type rolloutRecordModule struct {
	engine.RolloutRecord
	step *stepRun
}

var _ engine.Module = (*rolloutRecordModule)(nil)

// Check reports whether the record differs.
func (p *rolloutRecordModule) Check(context.Context, engine.System) (engine.Change, error) {
	pending, err := p.step.server.state.PendingHandlers()
	differs := slices.Contains(pending, p.Rollout) == p.Done
	if armed := p.step.server.isArmed(); p.over() && armed || p.IfLost != nil && !armed {
		differs = true
	}
	return engine.Change{Needed: differs}, err
}

// Apply writes the record.
func (p *rolloutRecordModule) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	if p.over() || p.IfLost != nil {
		p.step.server.arm(p.step, p.IfLost)
	}
	if p.Done {
		return nil, p.step.server.state.RemovePendingHandler(p.Rollout)
	}
	return nil, p.step.server.state.AddPendingHandlers([]string{p.Rollout})
}

// over reports whether the change of the rollout stays, or was restored.
func (p *rolloutRecordModule) over() bool { return p.Done || p.Passed }
