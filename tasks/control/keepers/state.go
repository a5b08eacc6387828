// Package keepers has the actions by which a run reads what the keepers of the masters do, pauses them,
// and marks nodes on which somebody works.
package keepers

import (
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/jsontypes"
	"deployer/keeper/status"
	"deployer/tasks/control/kube"
)

// State is the action `keeper_state`. It changes nothing. The output has `pause`, null without one, and
// `keepers`, the status of each keeper by the name of its host.
type State struct{}

// ReadOnly returns true: the action changes nothing.
func (*State) ReadOnly() bool { return true }

// Check reads the state.
func (*State) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	pause, all, err := status.Read(ctx, client)
	if err != nil {
		return engine.Change{}, err
	}
	values, err := jsontypes.FromGo(map[string]any{"pause": pause, "keepers": all})
	if err != nil {
		return engine.Change{}, fmt.Errorf("status of the keepers: %w", err)
	}
	out, _ := values.(map[string]any)
	return engine.NoChange(out), nil
}

// Apply does nothing: Check never returns a needed change.
func (*State) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// Pause is the action `keeper_pause`: it makes all keepers stop acting, or lets them act again.
type Pause struct {
	Resume bool          `yaml:"resume" doc:"End the pause. Default false."`
	For    time.Duration `yaml:"for" range:"0s.." doc:"Time after which the keepers act again by themselves; 0: when somebody resumes. Default 0."`
	By     string        `yaml:"by" rule:"line" doc:"Who pauses. Default: the run."`
	Reason string        `yaml:"reason" rule:"line" doc:"Reason, for those who find the keepers paused. Default: empty."`
}

// Check compares the pause with the wanted one. A pause that is renewed is a change.
func (p *Pause) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	now, _, err := status.Read(ctx, client)
	if err != nil {
		return engine.Change{}, err
	}
	if p.Resume && now == nil {
		return engine.NoChange(nil), nil
	}
	action := "pause"
	switch {
	case p.Resume:
		action = "resume; " + now.String()
	case p.For > 0:
		action = "pause for " + p.For.String()
	}
	return engine.Changed(engine.Effect{Kind: engine.EffectObject, Target: "keepers", Action: action}), nil
}

// Apply sets or ends the pause. A keeper that acts finishes its action first.
func (p *Pause) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	if p.Resume {
		return nil, status.SetPause(ctx, client, nil)
	}
	since := time.Now().UTC().Truncate(time.Second)
	pause := &status.Pause{By: p.By, Since: since, Reason: p.Reason}
	if pause.By == "" {
		pause.By = "run " + actx.RunID()
	}
	if p.For > 0 {
		pause.Until = since.Add(p.For)
	}
	return nil, status.SetPause(ctx, client, pause)
}
