package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/protocol/codec"
	"deployer/engine/sanitize"
)

// ErrStopped is the error of Run for a segment that Stop has ended early.
var ErrStopped = errors.New("stopped after the step in flight")

// cancelDelay bounds how long Run waits for the host to end the step in flight after
// its context has ended.
const cancelDelay = 10 * time.Second

// segment is a segment in flight.
type segment struct {
	steps []engine.Step
	quiet bool

	// Used by the receiving goroutine only:
	current       int // index of the step that was found last
	nextResult    int // index after the last step with a result
	nextStart     int // index after the last step that has started
	progressStep  int // index of the step with the last progress text
	progressBytes int // bytes of its progress texts

	abandoned chan struct{} // closed when dropped is set
	wakeup    chan struct{} // has a token when queue or end has changed

	mu         sync.Mutex
	queue      []delivery
	spareQueue []delivery // for reuse as the next queue
	dropped    bool       // Run has returned
	end        *protocol.EndMessage
}

// Run sends a segment, calls on with each result in order, and returns when the
// segment has ended on the host. The error is nil also when a step failed; the steps
// after it do not run and have no results. Run calls on in its own goroutine.
//
// When ctx ends, Run cancels the step in flight, waits for its result for up to
// cancelDelay, and returns the cause of ctx. After Stop it returns ErrStopped. When
// the session is lost it returns a *transport.Error.
func (s *Session) Run(ctx context.Context, seg engine.Segment, on func(engine.Result)) error {
	if len(seg.Steps) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	run, id, err := s.send(seg)
	if err != nil {
		return err
	}
	defer s.dropSegment(id)
	done, giveUp := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case <-run.wakeup:
			if end := s.deliver(run, on); end != nil {
				return s.segmentError(ctx, end)
			}
		case <-done:
			done = nil
			timer := time.NewTimer(cancelDelay)
			defer timer.Stop()
			giveUp = timer.C
			go s.cancel(id, true, context.Cause(ctx).Error())
		case <-giveUp:
			s.deliver(run, on)
			return context.Cause(ctx)
		case <-s.ctx.Done():
			s.deliver(run, on)
			return s.Err()
		}
	}
}

// segments holds buffers for encoded segments. All sessions share them, as few send
// at one moment.
var segments = sync.Pool{New: func() any { return new([]byte) }}

func (s *Session) send(seg engine.Segment) (*segment, uint32, error) {
	run := &segment{steps: seg.Steps, quiet: seg.Quiet, wakeup: make(chan struct{}, 1), abandoned: make(chan struct{})}
	payload := segments.Get().(*[]byte)
	defer segments.Put(payload)
	var err error
	if *payload, err = codec.AppendSegment((*payload)[:0], seg); err != nil {
		return nil, 0, fmt.Errorf("%s: encoding a segment: %w", s.opts.Host, err)
	}
	if len(*payload) > protocol.MaxMessage {
		return nil, 0, fmt.Errorf("%s: sending a segment of %d steps: it has %d bytes, the limit is %d; move large contents into files",
			s.opts.Host, len(seg.Steps), len(*payload), protocol.MaxMessage)
	}
	s.mu.Lock()
	s.nextID++
	id := s.nextID
	s.segments[id] = run
	s.mu.Unlock()
	if err := s.conn.Send(protocol.Segment, id, *payload); err != nil {
		s.dropSegment(id)
		s.end(err)
		return nil, 0, s.Err()
	}
	return run, id, nil
}

// dropSegment forgets a segment, with the results that were not delivered.
func (s *Session) dropSegment(id uint32) {
	s.mu.Lock()
	run := s.segments[id]
	delete(s.segments, id)
	s.mu.Unlock()
	if run == nil {
		return
	}
	close(run.abandoned)
	run.mu.Lock()
	defer run.mu.Unlock()
	s.release(run.queue)
	run.queue, run.dropped = nil, true
}

// segmentError returns the error of Run for a segment that has ended.
func (s *Session) segmentError(ctx context.Context, end *protocol.EndMessage) error {
	switch {
	case ctx.Err() != nil && (end.Stopped || end.Error != ""):
		return context.Cause(ctx)
	case end.Stopped:
		return ErrStopped
	case end.Error != "":
		return fmt.Errorf("%s: %s", s.opts.Host, sanitize.Text(end.Error))
	}
	return nil
}

func (s *Session) cancel(id uint32, now bool, reason string) {
	_ = s.conn.SendJSON(protocol.Cancel, id, protocol.CancelMessage{Now: now, Reason: reason})
}

// Stop ends all segments after the step in flight; their Run returns ErrStopped.
func (s *Session) Stop(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.segments {
		go s.cancel(id, false, reason)
	}
}
