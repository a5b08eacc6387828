package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/codec"
	"deployer/engine/sanitize"
	"deployer/engine/wire"
)

// ErrStopped is returned by Run when the segment ended early because of Stop.
var ErrStopped = errors.New("stopped after the step in flight")

// cancelDelay bounds how long Run waits, after its context has ended, for the
// host to end the step in flight.
const cancelDelay = 10 * time.Second

// segment is one in flight.
type segment struct {
	steps []engine.Step
	quiet bool

	// Of the goroutine that receives:
	current       int // the step that was looked for last
	nextResult    int // the step after the last one that has a result
	nextStart     int // the step after the last one that has started
	progressStep  int // the step that said something last
	progressBytes int // bytes that it said

	abandoned chan struct{} // closed with dropped
	wakeup    chan struct{} // has a token when queue or end have changed

	mu         sync.Mutex
	queue      []delivery
	spareQueue []delivery // memory for the next queue
	dropped    bool       // nobody takes anything any more
	end        *wire.EndMessage
}

// Run sends a segment, calls on with each result in order, and returns when the
// segment has ended on the host: nil also when a step failed, after which the
// rest is not run and gives no results. on is called by the goroutine of Run.
//
// When ctx ends, the step in flight is cancelled, its result is still waited
// for for a while, and the cause of ctx is returned. After Stop it returns
// ErrStopped. When the session is lost it returns a *transport.Error.
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

// segments holds the memory of segments on their way. All sessions share it: of a
// thousand, few send at one moment.
var segments = sync.Pool{New: func() any { return new([]byte) }}

func (s *Session) send(seg engine.Segment) (*segment, uint32, error) {
	run := &segment{steps: seg.Steps, quiet: seg.Quiet, wakeup: make(chan struct{}, 1), abandoned: make(chan struct{})}
	payload := segments.Get().(*[]byte)
	defer segments.Put(payload)
	var err error
	if *payload, err = codec.AppendSegment((*payload)[:0], seg); err != nil {
		return nil, 0, fmt.Errorf("%s: encoding a segment: %w", s.opts.Host, err)
	}
	if len(*payload) > wire.MaxMessage {
		return nil, 0, fmt.Errorf("%s: a segment of %d steps has %d bytes, the limit is %d: put large contents into files",
			s.opts.Host, len(seg.Steps), len(*payload), wire.MaxMessage)
	}
	s.mu.Lock()
	s.nextID++
	id := s.nextID
	s.segments[id] = run
	s.mu.Unlock()
	if err := s.conn.Send(wire.Segment, id, *payload); err != nil {
		s.dropSegment(id)
		s.end(err)
		return nil, 0, s.Err()
	}
	return run, id, nil
}

// dropSegment ends a segment here. What nobody has taken is dropped.
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

func (s *Session) segmentError(ctx context.Context, end *wire.EndMessage) error {
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
	_ = s.conn.SendJSON(wire.Cancel, id, wire.CancelMessage{Now: now, Reason: reason})
}

// Stop ends all segments in flight after their step in flight; Run returns
// ErrStopped.
func (s *Session) Stop(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.segments {
		go s.cancel(id, false, reason)
	}
}

// RunOne runs one step by itself, beside segments in flight, and returns its
// result.
func (s *Session) RunOne(ctx context.Context, run string, step engine.Step, check bool) (engine.Result, error) {
	var result engine.Result
	err := s.Run(ctx, engine.Segment{Run: run, Steps: []engine.Step{step}, Check: check}, func(r engine.Result) { result = r })
	return result, err
}
