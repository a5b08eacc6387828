package agent

import (
	"context"
	"errors"
	"time"

	"deployer/engine"
	"deployer/engine/agent/statedir"
	"deployer/engine/protocol"
	"deployer/engine/sanitize"
)

// stepRun is one step in flight.
type stepRun struct {
	server  *server
	segment uint32
	run     string
	resumes []string // runs that this one continues, the newest first
	step    engine.Step
	check   bool
	log     *statedir.Journal // nil in a dry run
	out     *outbox
	stop    *runningSegment

	startNotice startNotice

	attempts int
	applied  *engine.Change // the change of the last attempt that began to apply
	waitCut  error          // why a wait was cut short
}

// result executes the step, journals its result, and returns it.
func (r *stepRun) result(ctx context.Context, altered map[string]bool) engine.Result {
	began := time.Now()
	result := engine.Result{Step: r.step.ID, Name: r.step.Name, Started: began, Secret: r.step.Secret}
	if !isNotified(r.step, altered) {
		result.Status, result.Reason = engine.StatusSkipped, "no step that notifies it has changed anything"
		return result
	}
	r.startNotice.begin(func() {
		_ = r.out.flush()
		_ = r.server.conn.SendJSON(protocol.StepStart, r.segment, protocol.StepMessage{Step: r.step.ID})
	})
	change, err := r.attemptWithRetries(ctx)
	r.startNotice.end()
	result.Tries = r.attempts
	r.fillResult(ctx, &result, change, err)
	result.Elapsed = time.Since(began)
	limitResult(&result)
	// Only a step that may have changed the host is synced to the disk.
	err = errors.Join(r.recordAfter(context.WithoutCancel(ctx)), r.noteEnd(result, err))
	if handled := r.step.Handles != "" && !r.check && (result.Status == engine.StatusOK || result.Status == engine.StatusChanged); handled {
		err = errors.Join(err, r.server.state.RemovePendingHandler(r.step.Handles))
	}
	if err != nil {
		_ = r.server.conn.SendJSON(protocol.Progress, r.segment, protocol.StepMessage{Step: r.step.ID, Text: sanitize.CutStart(err.Error(), maxText)})
	}
	return result
}

// noteEnd journals how the step ended. A step that was refused because an earlier
// attempt was interrupted gets no entry, so that the journal still shows that
// attempt.
func (r *stepRun) noteEnd(result engine.Result, err error) error {
	if interrupted := (&engine.InterruptedError{}); errors.As(err, &interrupted) {
		return nil
	}
	return r.log.End(result, r.applied != nil)
}

// isNotified reports whether a handler has to run: one of its notifiers has changed
// something, or it has none.
func isNotified(step engine.Step, altered map[string]bool) bool {
	for _, id := range step.OnChange {
		if altered[id] {
			return true
		}
	}
	return len(step.OnChange) == 0
}

// fillResult fills in status, change and failure from the outcome of the attempts.
func (r *stepRun) fillResult(ctx context.Context, result *engine.Result, change engine.Change, err error) {
	result.Output = change.Output
	if r.applied != nil && !r.check {
		r.server.backups.ReportIrreversible(r.backupStep(), &change)
	}
	if change.Needed || len(change.Effects) > 0 {
		change.Output = nil
		result.Change = &change
	}
	if r.step.Secret {
		err = r.withhold(err)
		if result.Change != nil {
			result.Change.Effects = engine.WithheldEffects(result.Change.Effects, r.step.Module)
		}
	}
	switch {
	case err == nil && (change.Needed || r.applied != nil) && !change.Wait:
		result.Status = engine.StatusChanged
	case err == nil:
		result.Status = engine.StatusOK
	case ctx.Err() != nil:
		result.Status, result.Reason = engine.StatusCancelled, context.Cause(ctx).Error()
		result.Failure = failure(err)
	case r.waitCut != nil:
		result.Status, result.Reason = engine.StatusCancelled, r.waitCut.Error()
	case r.step.IgnoreErrors:
		result.Status, result.Ignored = engine.StatusOK, true
		result.Failure = failure(err)
	default:
		result.Status = engine.StatusFailed
		result.Failure = failure(err)
	}
}

// failure converts an error for the wire, with the detail of an *engine.Failure or
// the stack of a panic.
func failure(err error) *engine.Failure {
	var f *engine.Failure
	if errors.As(err, &f) {
		return &engine.Failure{Message: err.Error(), Detail: f.Detail, Deterministic: f.Deterministic}
	}
	var p *panicError
	if errors.As(err, &p) {
		return &engine.Failure{Message: err.Error(), Detail: p.stack}
	}
	return &engine.Failure{Message: err.Error()}
}
