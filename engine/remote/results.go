package remote

import (
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/engine/packed"
	"deployer/engine/wire"
)

// told is one thing that the host said of a segment: an event, or else a result.
type told struct {
	event  *engine.Event
	result engine.Result
}

// mostQueued is how much may wait to be handed over before events are dropped;
// results never are.
const mostQueued = 10_000

// deliver hands over what has come, in the order in which it was said, and returns
// the end if that has come too.
func (g *segment) deliver(on func(engine.Result), emit func(engine.Event)) *wire.EndMessage {
	g.mu.Lock()
	queue, end := g.queue, g.end
	g.queue = g.spare[:0]
	g.mu.Unlock()
	for i := range queue {
		if t := &queue[i]; t.event != nil {
			emit(*t.event)
		} else {
			on(t.result)
		}
	}
	clear(queue)
	g.spare = queue
	return end
}

// step finds a step by its id, nil when there is none. Steps come in order, so
// it is the last one that was found, or the next. Only the goroutine that
// receives may call it.
func (g *segment) step(id string) *engine.Step {
	for range g.steps {
		if s := &g.steps[g.at]; s.ID == id {
			return s
		}
		g.at = (g.at + 1) % len(g.steps)
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
		run.add(func() { run.end = &m })
		return nil
	}
	var m wire.StepMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	step := run.step(m.Step)
	if step == nil {
		return &wire.ProtocolError{Reason: fmt.Sprintf("%v of the unknown step %q", f.Type, clean(m.Step))}
	}
	if run.quiet {
		return nil
	}
	e := engine.Event{Type: engine.StepStart, Step: step.ID, Name: step.Name}
	if f.Type == wire.Progress {
		e.Type, e.Text = engine.StepText, clean(m.Text)
	}
	run.add(func() {
		if len(run.queue) < mostQueued {
			run.queue = append(run.queue, told{event: &e})
		}
	})
	return nil
}

// resultsFrame takes in the results of one step or of several.
func (s *Session) resultsFrame(f wire.Frame, run *segment) error {
	var refused error
	run.add(func() {
		refused = packed.ReadResults(f.Payload, func(r engine.Result) error {
			err := s.completeResult(&r, run)
			if err == nil {
				run.queue = append(run.queue, told{result: r})
			}
			return err
		})
	})
	var wrong *wire.ProtocolError
	if refused != nil && !errors.As(refused, &wrong) {
		return &wire.ProtocolError{Reason: fmt.Sprintf("%v message: %v", f.Type, refused)}
	}
	return refused
}

// completeResult adds what the controller knows to what the host said, if that can
// be.
func (s *Session) completeResult(r *engine.Result, run *segment) error {
	step := run.step(r.Step)
	if step == nil || run.left == 0 {
		return &wire.ProtocolError{Reason: fmt.Sprintf("a result too many, of step %q", clean(r.Step))}
	}
	switch r.Status {
	case engine.OK, engine.Altered, engine.Skipped, engine.Failed, engine.Cancelled:
	default:
		return &wire.ProtocolError{Reason: fmt.Sprintf("a result with the unknown status %q", clean(string(r.Status)))}
	}
	r.Host, r.Step, r.Name, r.Secret = s.opts.Host, step.ID, step.Name, step.Secret
	cleanResult(r)
	run.left--
	return nil
}

// add changes the segment and wakes Run.
func (g *segment) add(change func()) {
	g.mu.Lock()
	change()
	g.mu.Unlock()
	select {
	case g.news <- struct{}{}:
	default:
	}
}
