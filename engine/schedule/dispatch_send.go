package schedule

import (
	"context"
	"errors"
	"slices"

	"deployer/engine"
)

// truncatedError is a session that ended a segment before its last step.
type truncatedError struct{}

// Error says what happened.
func (truncatedError) Error() string { return "the agent ended before the last step" }

// Retryable is true: a new agent goes on where this one stopped.
func (truncatedError) Retryable() bool { return true }

var errTruncated error = truncatedError{}

// send sends the steps that are not done, and takes in their results. The
// number of steps sent is returned.
func (f *dispatch) send(ctx context.Context) (int, error) {
	h := f.host
	release, err := h.acquireForks(f.entries[f.next].op)
	if err != nil {
		return 0, err
	}
	defer release()
	steps := f.steps()
	if len(steps) == 0 {
		return 0, nil
	}
	session := h.live()
	if session == nil {
		return 0, errTruncated
	}
	in := &resultReader{dispatch: f, ending: h.stop()}
	if s, ok := session.Host.(Stopper); ok {
		in.stop = func() { s.Stop(context.Cause(h.stop()).Error()) }
		defer context.AfterFunc(h.stop(), in.stop)()
	}
	seg := h.segment(steps...)
	f.session = session
	err = session.Run(ctx, seg, in.receive)
	in.close()
	if judged := f.awaitingEvaluation(); judged != nil {
		f.recordResult(judged, h.evaluate(ctx, session, judged))
	}
	return len(steps), err
}

// steps are those to be sent. A handler that was to run after a step which is
// done by now either must run, or is done as well.
func (f *dispatch) steps() []engine.Step {
	done := map[string]bool{} // step -> it changed something
	for _, e := range f.entries {
		switch {
		case e.step != nil && e.unsure: // also if its next run finds nothing to do
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

// receive takes in the result of the next step.
func (f *dispatch) receive(res engine.Result) {
	for f.next < len(f.entries) {
		e := f.entries[f.next]
		if e.step == nil {
			e.local()
			f.next++
			continue
		}
		if e.step.ID != res.Step || e.result != nil {
			return // not ours, or told twice
		}
		if e.judge {
			e.result = &res
			return
		}
		f.recordResult(e, res)
		return
	}
}

// recordResult records a result; the flight goes on behind it unless it failed.
func (f *dispatch) recordResult(e *entry, res engine.Result) {
	if e.unsure && res.Status == engine.StatusOK {
		// It had begun when the connection was lost: what it changed then is
		// not seen any more, but must still be followed by its handlers.
		f.host.notify(e.task)
	}
	e.judge = false
	e.result = f.host.record(e, res)
	if e.succeeded() {
		f.next++
		f.runLocals()
	}
}

// awaitingEvaluation is the entry whose result waits for the controller's judgement.
func (f *dispatch) awaitingEvaluation() *entry {
	if f.next < len(f.entries) {
		if e := f.entries[f.next]; e.judge && e.result != nil {
			return e
		}
	}
	return nil
}

// reconnect comes back to a host that was lost.
func (f *dispatch) reconnect(ctx context.Context, lost error) error {
	h := f.host
	h.connection.drop(f.session)
	h.agentIncomplete = true // a new agent knows nothing of what came before
	h.run.emit(engine.Event{Type: engine.EventHostRetry, Host: h.name, Text: "connection lost (" + lost.Error() + "); connecting again"})
	err := h.connect(ctx, h.run.opts.Retry.Reattempts)
	var down *hostFailure
	if errors.As(err, &down) {
		down.step = f.stepName()
	}
	if err == nil {
		f.resume(ctx)
	}
	return err
}

// resume learns from the journal on the host which of the steps without a result
// have begun to change something: the one that was in flight when the connection
// was lost, and those that the agent was ahead. They run again, as the journal
// has neither output nor diff, and find their work done; what they notify must
// run all the same. Without an answer the next step counts as begun: running its
// handlers once too often does no harm.
func (f *dispatch) resume(ctx context.Context) {
	f.runLocals()
	begun, known := f.host.begunSteps(ctx)
	for i, e := range f.entries[f.next:] {
		if e.step != nil && e.result == nil {
			e.unsure = e.unsure || begun[e.step.ID] || !known && i == 0
		}
	}
}

// begunSteps are the steps of this run that have begunSteps to change the host, by its own
// journal; false when it does not say.
func (h *host) begunSteps(ctx context.Context) (map[string]bool, bool) {
	session := h.live()
	if session == nil {
		return nil, false
	}
	j, ok := session.Host.(Journaler)
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
