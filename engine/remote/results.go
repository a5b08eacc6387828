package remote

import (
	"fmt"
	"strings"

	"deployer/engine"
	"deployer/engine/codec"
	"deployer/engine/sanitize"
	"deployer/engine/wire"
)

// delivery is one thing that the host said of a segment: an event, or else a result.
type delivery struct {
	event  *engine.Event
	result engine.Result
	bytes  int // of the session's budget for its kind
}

// eventWeight is what an event takes in bytes beside its text.
const eventWeight = 512

// deliver hands over what has come, in the order in which it was said, and returns
// the end if that has come too.
func (s *Session) deliver(g *segment, on func(engine.Result)) *wire.EndMessage {
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

// maxSpareQueue is how many things a queue that is kept for later has room for.
const maxSpareQueue = 1000

// step finds a step by its id, nil when there is none. Steps come in order, so
// it is the last one that was found, or the next. Only the goroutine that
// receives may call it.
func (g *segment) step(id string) *engine.Step {
	for range g.steps {
		if s := &g.steps[g.current]; s.ID == id {
			return s
		}
		g.current = (g.current + 1) % len(g.steps)
	}
	return nil
}

// segmentFrame takes in what the host says of a segment. One that is given up
// may still go on there, so an unknown id is no mistake.
func (s *Session) segmentFrame(f wire.Frame) error {
	s.mu.Lock()
	run := s.segments[f.ID]
	s.mu.Unlock()
	if run == nil {
		return nil
	}
	switch f.Type {
	case wire.Result:
		return s.resultsFrame(f, run)
	case wire.SegmentEnd:
		var m wire.EndMessage
		if err := f.Decode(&m); err != nil {
			return err
		}
		run.mu.Lock()
		run.end = &m
		run.mu.Unlock()
		run.wake()
		return nil
	}
	var m wire.StepMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	step := run.step(m.Step)
	if step == nil {
		return &wire.ProtocolError{Reason: fmt.Sprintf("%v of the unknown step %q", f.Type, sanitize.Text(m.Step))}
	}
	if run.quiet {
		return nil
	}
	e := engine.Event{Type: engine.StepStart, Step: step.ID, Name: step.Name}
	switch {
	case f.Type == wire.Progress:
		e.Type, e.Text = engine.StepText, sanitize.Text(cutText(m.Text, maxProgress))
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

// cutText keeps the beginning of a text.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// resultsFrame takes in the results of one step or of several. It waits while there
// are too many that nobody has taken.
func (s *Session) resultsFrame(f wire.Frame, run *segment) error {
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
		refused = &wire.ProtocolError{Reason: fmt.Sprintf("%v message: %v", f.Type, err)}
	}
	return refused
}

// completeResult adds what the controller knows to what the host said, if that can
// be. Results come in the order of the steps, one of each at most.
func (s *Session) completeResult(r *engine.Result, run *segment) error {
	step := run.step(r.Step)
	if step == nil || run.current < run.nextResult {
		return &wire.ProtocolError{Reason: fmt.Sprintf("a result too many, of step %q", sanitize.Text(r.Step))}
	}
	run.nextResult = run.current + 1
	switch r.Status {
	case engine.OK, engine.Altered, engine.Skipped, engine.Failed, engine.Cancelled:
	default:
		return &wire.ProtocolError{Reason: fmt.Sprintf("a result with the unknown status %q", sanitize.Text(string(r.Status)))}
	}
	r.Host, r.Step, r.Name, r.Secret = s.opts.Host, step.ID, step.Name, step.Secret
	r.Ignored = r.Ignored && step.IgnoreErrors
	r.Elapsed, r.Tries = max(r.Elapsed, 0), max(r.Tries, 0)
	limitResult(r)
	sanitizeResult(r)
	return nil
}

// queue keeps what was told for Run, and wakes it.
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

// release gives back the memory of what was told.
func (s *Session) release(all []delivery) {
	for i := range all {
		if all[i].event != nil {
			s.texts.free(all[i].bytes)
		} else {
			s.results.free(all[i].bytes)
		}
	}
}

// wake lets Run look at the queue and the end.
func (g *segment) wake() {
	select {
	case g.wakeup <- struct{}{}:
	default:
	}
}
