package agent

import (
	"context"
	"slices"

	"deployer/engine"
)

// duePostTasksModule is the agent's own module that records due post_tasks of rollouts,
// beside the pending handlers.
type duePostTasksModule struct {
	engine.DuePostTasks
	step *stepRun
}

var _ engine.Module = (*duePostTasksModule)(nil)

// Check reports whether the record differs.
func (p *duePostTasksModule) Check(context.Context, engine.System) (engine.Change, error) {
	pending, err := p.step.server.state.pendingHandlers()
	return engine.Change{Needed: slices.Contains(pending, p.Rollout) == p.Done}, err
}

// Apply writes the record.
func (p *duePostTasksModule) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	if p.Done {
		return nil, p.step.server.state.removePendingHandler(p.Rollout)
	}
	return nil, p.step.server.state.addPendingHandlers([]string{p.Rollout})
}
