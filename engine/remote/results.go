package remote

import (
	"fmt"
	"strings"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/protocol/codec"
	"deployer/engine/sanitize"
)

// delivery is an event or a result of a segment that waits for Run.
type delivery struct {
	event  *engine.Event
	result engine.Result
	bytes  int // taken from the session's budget for events or results
}

// eventWeight is the memory of an event in bytes beside its text.
const eventWeight = 512

// deliver passes queued events and results on, in order, and returns the end of the
// segment if it has arrived.
func (s *Session) deliver(g *segment, on func(engine.Result)) *protocol.EndMessage {
	g.mu.Lock()
	queue, end := g.queue, g.end
	g.queue = g.spareQueue[:0]
	g.mu.Unlock()
	for i := range queue {
		if t := &queue[i]; t.event != nil {
			s.emit(*t.event)
			s.texts.free(t.bytes)
		} else {
			on(t.result)
			s.results.free(t.bytes)
		}
	}
	clear(queue)
	g.spareQueue = queue
	if cap(g.spareQueue) > maxSpareQueue {
		g.spareQueue = nil
	}
	return end
}

// maxSpareQueue is the capacity up to which a queue is kept for reuse.
const maxSpareQueue = 1000

// step returns the step with an id; nil when there is none. Steps run in order, so
// the search starts at the last one found. Only the receiving goroutine may call it.
func (g *segment) step(id string) *engine.Step {
	for range g.steps {
		if s := &g.steps[g.current]; s.ID == id {
			return s
		}
		g.current = (g.current + 1) % len(g.steps)
	}
	return nil
}

// segmentFrame handles a message about a segment. The host may still work on a
// segment that was dropped here, so an unknown id is no error.
func (s *Session) segmentFrame(f protocol.Frame) error {
	s.mu.Lock()
	run := s.segments[f.ID]
	s.mu.Unlock()
	if run == nil {
		return nil
	}
	switch f.Type {
	case protocol.Result:
		return s.resultsFrame(f, run)
	case protocol.SegmentEnd:
		var m protocol.EndMessage
		if err := f.Decode(&m); err != nil {
			return err
		}
		run.mu.Lock()
		run.end = &m
		run.mu.Unlock()
		run.wake()
		return nil
	}
	var m protocol.StepMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	step := run.step(m.Step)
	if step == nil {
		return &protocol.Error{Reason: fmt.Sprintf("%v of the unknown step %q", f.Type, sanitize.Text(m.Step))}
	}
	if run.quiet || step.Quiet {
		return nil
	}
	e := engine.Event{Type: engine.EventStepStart, Step: step.ID, Name: step.Name}
	switch {
	case f.Type == protocol.Progress:
		e.Type, e.Text = engine.EventStepText, sanitize.Text(cutText(m.Text, maxProgress))
		if run.progressStep != run.current {
			run.progressStep, run.progressBytes = run.current, 0
		}
		if run.progressBytes += len(e.Text) + 1; run.progressBytes > maxStepProgress {
			return nil
		}
	case run.nextStart > run.current:
		return nil // a step starts once
	default:
		run.nextStart = run.current + 1
	}
	if bytes := eventWeight + len(e.Text); s.texts.tryTake(bytes) {
		s.queue(run, delivery{event: &e, bytes: bytes})
	}
	return nil
}

// cutText returns at most the first `most` bytes of a text, and "..." when it is
// cut.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// resultsFrame handles the results of one step or several. resultsFrame blocks while too many
// results wait for Run.
func (s *Session) resultsFrame(f protocol.Frame, run *segment) error {
	var refused error
	var came []delivery
	weight := 0
	err := codec.ReadResults(f.Payload, func(r engine.Result) error {
		if refused = s.completeResult(&r, run); refused != nil {
			return refused
		}
		came = append(came, delivery{result: r, bytes: r.Weight})
		weight += r.Weight
		return nil
	})
	if s.results.take(s.ctx, run.abandoned, weight) {
		s.queue(run, came...)
	}
	if err != nil && refused == nil {
		refused = &protocol.Error{Reason: fmt.Sprintf("%v message: %v", f.Type, err)}
	}
	return refused
}

// completeResult checks a result and adds the fields that the controller knows.
// Results arrive in the order of the steps, at most one for each.
func (s *Session) completeResult(r *engine.Result, run *segment) error {
	step := run.step(r.Step)
	if step == nil || run.current < run.nextResult {
		return &protocol.Error{Reason: fmt.Sprintf("unexpected result of step %q", sanitize.Text(r.Step))}
	}
	run.nextResult = run.current + 1
	switch r.Status {
	case engine.StatusOK, engine.StatusChanged, engine.StatusSkipped, engine.StatusFailed, engine.StatusCancelled:
	default:
		return &protocol.Error{Reason: fmt.Sprintf("result with unknown status %q", sanitize.Text(string(r.Status)))}
	}
	r.Host, r.Step, r.Name, r.Secret = s.opts.Host, step.ID, step.Name, step.Secret
	r.Ignored = r.Ignored && step.IgnoreErrors
	r.Elapsed, r.Tries = max(r.Elapsed, 0), max(r.Tries, 0)
	limitResult(r)
	sanitize.Result(r)
	return nil
}

// queue adds deliveries for Run and wakes it.
func (s *Session) queue(g *segment, all ...delivery) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dropped {
		s.release(all)
		return
	}
	g.queue = append(g.queue, all...)
	g.wake()
}

// release returns the memory of deliveries to the budgets.
func (s *Session) release(all []delivery) {
	for i := range all {
		if all[i].event != nil {
			s.texts.free(all[i].bytes)
		} else {
			s.results.free(all[i].bytes)
		}
	}
}

// wake makes Run check the queue and the end.
func (g *segment) wake() {
	select {
	case g.wakeup <- struct{}{}:
	default:
	}
}
