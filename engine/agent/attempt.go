package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"deployer/engine"
)

// attemptWithRetries attempts the step, and repeats failed attempts as often as the
// step allows, with the step's delay between them.
func (r *stepRun) attemptWithRetries(ctx context.Context) (engine.Change, error) {
	for {
		r.attempts++
		change, err := r.attempt(ctx)
		if err == nil || r.attempts > r.step.Retries || r.pause(ctx) != nil {
			if r.applied != nil && !change.Needed {
				// The failed attempt made the change that the last one found in place.
				r.applied.Output = change.Output
				change = *r.applied
			}
			return change, err
		}
	}
}

// pause waits for the step's delay. The error says why no other attempt may begin:
// the segment was ended, or the controller is gone.
func (r *stepRun) pause(ctx context.Context) error {
	timer := time.NewTimer(r.step.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return r.server.ended(ctx, r.stop)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.stop.finish:
		return &segmentCancelled{reason: r.stop.reason}
	case <-r.server.gone:
		return r.server.lostError()
	}
}

// panicError is the error of a module that panicked.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string {
	return fmt.Sprintf("the module panicked: %v; this is a bug of deployer, report it with the detail", e.value)
}

// attempt checks and applies the step once, within the step's timeout. A panic
// becomes a *panicError: an agent that dies would lose the results of other steps.
func (r *stepRun) attempt(ctx context.Context) (change engine.Change, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: string(debug.Stack())}
		}
	}()
	if r.step.Timeout > 0 {
		limit := &agentError{fmt.Errorf("it took longer than its timeout of %v", r.step.Timeout)}
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, r.step.Timeout, limit)
		defer stop()
	}
	change, err = r.checkAndApply(ctx)
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return change, err
}

// module returns the step's module: one of the agent's own, or one of the registry.
func (r *stepRun) module() (engine.Module, error) {
	switch r.step.Module {
	case engine.RevertModule:
		return r.server.backups.RevertModule(r.run, r.resumes), nil
	case engine.PurgeModule:
		return r.server.backups.PurgeModule(r.run), nil
	case engine.RolloutRecordModule:
		return &rolloutRecordModule{step: r}, nil
	}
	return r.server.registry.Module(r.step.Module)
}

// decodeArgs decodes args into module. A field that the module does not have is an
// error.
func decodeArgs(args json.RawMessage, module engine.Module) error {
	if own, ok := module.(json.Unmarshaler); ok {
		return own.UnmarshalJSON(args) // and is not read twice
	}
	decoder := json.NewDecoder(bytes.NewReader(args))
	decoder.DisallowUnknownFields()
	return decoder.Decode(module)
}

// checkAndApply checks, and applies if the check found a change and this is no dry
// run. Before it applies, it journals that the step begins and writes down the
// handlers that the step notifies.
func (r *stepRun) checkAndApply(ctx context.Context) (engine.Change, error) {
	module, err := r.module()
	if err != nil {
		return engine.Change{}, &agentError{err}
	}
	if err := decodeArgs(r.step.Args, module); err != nil {
		return engine.Change{}, fmt.Errorf("arguments of %s: %w", r.step.Module, err)
	}
	_, runsPrograms := module.(engine.RunsPrograms)
	sys := &system{step: r, runsPrograms: runsPrograms}
	change, err := module.Check(ctx, sys)
	if err == nil && change.Needed {
		r.server.backups.PredictIrreversible(&change)
	}
	if err == nil && r.check {
		r.server.dryRun.add(change)
	}
	if err != nil || !change.Needed || r.check {
		return change, err
	}
	if err := r.step.Expect.Allows(r.forDisplay(change)); err != nil {
		return engine.Change{Output: change.Output}, &agentError{err}
	}
	var output engine.Output
	if change.Wait {
		output, err = r.wait(ctx, module, sys, change)
	} else {
		// The entry is synced to the disk first, so that it survives a power cut:
		// nothing shows later that a command has begun.
		if err := errors.Join(r.log.Begin(r.step.ID, runsPrograms), r.server.state.AddPendingHandlers(r.step.Notifies)); err != nil {
			return change, err
		}
		r.applied = &change
		output, err = module.Apply(ctx, sys, change)
	}
	if len(output) > 0 {
		merged := engine.Output{}
		maps.Copy(merged, change.Output)
		maps.Copy(merged, output)
		change.Output = merged
	}
	return change, err
}

// wait applies a change that only waits. The wait is cut short when the controller
// is lost or ends the segment: no change is left half done, and neither the user nor
// the next agent has to wait for it.
func (r *stepRun) wait(ctx context.Context, module engine.Module, sys engine.System, change engine.Change) (engine.Output, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-r.server.gone:
			stop(r.server.lostError())
		case <-r.stop.finish:
			stop(&segmentCancelled{reason: r.stop.reason})
		case <-ctx.Done():
		}
	}()
	output, err := module.Apply(ctx, sys, change)
	if err != nil && ctx.Err() != nil {
		r.waitCut = context.Cause(ctx)
	}
	return output, err
}
