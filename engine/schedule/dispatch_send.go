package schedule

import (
	"context"
	"errors"
	"slices"

	"deployer/engine"
	"deployer/engine/session"
)

// truncatedError is the error of a session that ended a segment before its last step.
type truncatedError struct{}

// Error implements error.
func (truncatedError) Error() string { return "the agent ended before the last step" }

// Retryable returns true: a new agent continues.
func (truncatedError) Retryable() bool { return true }

var errTruncated error = truncatedError{}

// send sends the steps without result and receives their results. send returns the number of
// steps sent.
func (f *dispatch) send(ctx context.Context) (int, error) {
	h := f.host
	if err := h.run.connections.AwaitMajority(ctx, h.stop()); err != nil {
		return 0, err
	}
	release, err := h.acquireForks(f.entries[f.next].op)
	if err != nil {
		return 0, err
	}
	defer release()
	steps := f.steps()
	if len(steps) == 0 {
		return 0, nil
	}
	live := h.live()
	if live == nil {
		return 0, errTruncated
	}
	stop := h.stop()
	in := &resultReader{dispatch: f, ending: stop}
	if s, ok := live.(session.Stopper); ok {
		in.stop = func() { s.Stop(context.Cause(stop).Error()) }
		defer context.AfterFunc(stop, in.interrupt)()
	}
	seg := h.segment(h.armed(live, steps)...)
	f.session = live
	err = live.Run(ctx, seg, in.receive)
	in.close()
	if judged := f.awaitingEvaluation(); judged != nil {
		f.recordResult(judged, h.evaluate(ctx, live, judged))
	}
	return len(steps), err
}

// steps returns the steps to send. A handler whose notifying step already has a result
// either must run or is skipped.
func (f *dispatch) steps() []engine.Step {
	done := map[string]bool{} // step -> it changed something
	for _, e := range f.entries {
		switch {
		case e.step != nil && e.interrupted: // even if its next run changes nothing
			done[e.step.ID] = true
		case e.result != nil:
			done[e.step.ID] = e.result.Status == engine.StatusChanged
		}
	}
	out := make([]engine.Step, 0, len(f.entries)-f.next)
	for _, e := range f.entries[f.next:] {
		if e.step == nil || e.result != nil {
			continue
		}
		s := *e.step
		if len(s.OnChange) > 0 {
			notified := slices.ContainsFunc(s.OnChange, func(id string) bool { return done[id] })
			s.OnChange = slices.DeleteFunc(slices.Clone(s.OnChange), func(id string) bool { _, d := done[id]; return d })
			switch {
			case notified:
				s.OnChange, e.conditional = nil, false
			case len(s.OnChange) == 0:
				e.step, e.local = nil, func() {}
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// receive handles the result of the next step.
func (f *dispatch) receive(res engine.Result) {
	for f.next < len(f.entries) {
		e := f.entries[f.next]
		if e.step == nil {
			e.local()
			f.next++
			continue
		}
		if e.step.ID != res.Step || e.result != nil {
			return // another step's, or a duplicate
		}
		if e.needsEvaluation {
			e.result = &res
			return
		}
		f.recordResult(e, res)
		return
	}
}

// recordResult records a result and moves to the next entry, unless the step failed.
func (f *dispatch) recordResult(e *entry, res engine.Result) {
	if e.interrupted && res.Status == engine.StatusOK {
		// The step had begun when the connection was lost: its change is no longer
		// visible, but must still notify its handlers.
		f.host.notify(e.task)
	}
	e.needsEvaluation = false
	e.result = f.host.record(e, res)
	if e.succeeded() {
		f.next++
		f.runLocals()
	}
}

// awaitingEvaluation returns the entry whose result the controller has to evaluate.
func (f *dispatch) awaitingEvaluation() *entry {
	if f.next < len(f.entries) {
		if e := f.entries[f.next]; e.needsEvaluation && e.result != nil {
			return e
		}
	}
	return nil
}

// reconnect connects to a host again after a loss.
func (f *dispatch) reconnect(ctx context.Context, lost error) error {
	h := f.host
	h.connection.Drop(f.session)
	h.agentIncomplete = true // a new agent has not seen the steps before
	h.run.emit(engine.Event{Type: engine.EventHostRetry, Host: h.name, Text: "connection lost (" + lost.Error() + "); connecting again"})
	reconnected := h.connection.Reconnecting()
	err := h.reopen(ctx)
	reconnected()
	var down *hostFailure
	if errors.As(err, &down) {
		down.step = f.stepName()
	}
	if err != nil {
		return err
	}
	if restored := f.resume(ctx); restored != nil {
		restored.step = f.stepName()
		return restored
	}
	return nil
}

// resume reads from the host's journal which steps without result have begun: the step in
// flight when the connection was lost, and later steps of the agent. These steps run again,
// because the journal has neither output nor diff, and find no change; their handlers must
// run all the same. Without an answer the next step counts as begun: a handler that runs
// twice does no harm.
//
// resume returns the failure of a host that has restored itself meanwhile.
func (f *dispatch) resume(ctx context.Context) *hostFailure {
	f.runLocals()
	begun, known := f.host.begunSteps(ctx)
	if restored := f.host.restoredItself(begun); restored != nil {
		return restored
	}
	for i, e := range f.entries[f.next:] {
		if e.step != nil && e.result == nil {
			e.interrupted = e.interrupted || begun[e.step.ID] || !known && i == 0
		}
	}
	return nil
}

// begunSteps returns the steps of this run that have begun on the host, from the host's
// journal; false when the journal is not available.
func (h *host) begunSteps(ctx context.Context) (map[string]bool, bool) {
	live := h.live()
	if live == nil {
		return nil, false
	}
	j, ok := live.(session.Journaler)
	if !ok {
		return nil, false
	}
	entries, err := j.Journal(ctx, h.run.opts.RunID)
	if err != nil {
		return nil, false
	}
	begun := map[string]bool{}
	for _, e := range entries {
		begun[e.Step] = begun[e.Step] || e.Begun
	}
	return begun, true
}
