package agent

import (
	"context"
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/engine/agent/statedir"
	"deployer/engine/protocol"
	"deployer/engine/protocol/codec"
	"deployer/engine/sanitize"
)

// maxSegments is the maximum number of segments in flight. Usually one segment is in flight; the others
// are single modules that an action runs meanwhile.
const maxSegments = 32

// runningSegment is a segment in flight.
type runningSegment struct {
	finish chan struct{} // closed to end the segment after the step in flight
	reason string        // why it ends; valid once finish is closed
	cancel context.CancelCauseFunc
}

// segmentCancelled is the cause when the controller has cancelled a segment.
type segmentCancelled struct{ reason string }

func (e *segmentCancelled) Error() string {
	if e.reason == "" {
		return "cancelled"
	}
	return "cancelled: " + e.reason
}

// begin starts a segment in a goroutine of its own.
func (s *server) begin(ctx context.Context, f protocol.Frame) error {
	seg, err := codec.ReadSegment(f.Payload)
	if err != nil {
		return &protocol.Error{Reason: fmt.Sprintf("%v message: %v", f.Type, err)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	run := &runningSegment{finish: make(chan struct{}), cancel: cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.segments[f.ID]; twice || len(s.segments) == maxSegments {
		cancel(nil)
		return &protocol.Error{Reason: fmt.Sprintf("segment %d: its id is in use, or too many segments are in flight", f.ID)}
	}
	if s.cause != nil {
		cancel(nil)
		return s.cause
	}
	s.segments[f.ID] = run
	s.steps.Go(func() {
		defer cancel(nil)
		err := s.runSegment(ctx, f.ID, seg, run)
		s.mu.Lock()
		delete(s.segments, f.ID)
		s.mu.Unlock()
		end := protocol.EndMessage{}
		var stop *segmentCancelled
		switch {
		case errors.As(err, &stop):
			end.Stopped = true
		case err != nil:
			end.Error = sanitize.CutStart(err.Error(), maxText)
		}
		_ = s.conn.SendJSON(protocol.SegmentEnd, f.ID, end)
	})
	return nil
}

// cancel ends a segment early. A segment that has ended meanwhile is not an error.
func (s *server) cancel(f protocol.Frame) error {
	var m protocol.CancelMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.segments[f.ID]
	if run == nil {
		return nil
	}
	select {
	case <-run.finish:
	default:
		run.reason = m.Reason
		close(run.finish)
	}
	if m.Now {
		run.cancel(&segmentCancelled{reason: m.Reason})
	}
	return nil
}

// ended returns the reason why no further step of the segment may begin, or nil.
func (s *server) ended(ctx context.Context, run *runningSegment) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.gone:
		return s.lostError()
	case <-run.finish:
		return &segmentCancelled{reason: run.reason}
	default:
		return nil
	}
}

// runSegment runs the steps of a segment until one fails, or in a check to the end,
// or until the segment is ended. runSegment holds the lock of the state directory meanwhile,
// unless the run is a check.
func (s *server) runSegment(ctx context.Context, id uint32, seg engine.Segment, run *runningSegment) (failed error) {
	var log *statedir.Journal
	if !seg.CheckOnly {
		s.dryRun.clear() // results of earlier checks are out of date
		unlock, err := s.lockState(ctx, id, seg)
		if err != nil {
			return err
		}
		defer unlock()
		if log, err = s.state.Journal(seg.Run); err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, s.runDeferred(ctx, id, seg.Run, log)) }()
	}
	out := &outbox{conn: s.conn, segment: id}
	defer func() { failed = errors.Join(failed, out.flush()) }()
	altered := map[string]bool{}
	for _, step := range seg.Steps {
		if err := s.ended(ctx, run); err != nil {
			return err
		}
		r := &stepRun{server: s, segment: id, run: seg.Run, resumes: seg.ResumedRuns, step: step, check: seg.CheckOnly, log: log, out: out, stop: run}
		result := r.result(ctx, altered)
		altered[step.ID] = result.Status == engine.StatusChanged
		if err := out.add(&result); err != nil {
			return err
		}
		// A check changes nothing, so it continues: the controller decides whether the
		// failure counts.
		if result.Failure != nil && !result.Ignored && !seg.CheckOnly || result.Status == engine.StatusCancelled {
			return s.ended(ctx, run)
		}
	}
	return nil
}

// lockState takes the lock of the state directory, unless the segment needs none,
// and returns the function that releases it.
func (s *server) lockState(ctx context.Context, id uint32, seg engine.Segment) (unlock func(), err error) {
	if seg.Unlocked {
		return func() {}, nil
	}
	return s.state.Lock(ctx, s.gone, func(text string) { s.progress(id, seg, text) })
}

// progress reports text on the segment's first step, which has not begun yet.
func (s *server) progress(id uint32, seg engine.Segment, text string) {
	if len(seg.Steps) > 0 {
		_ = s.conn.SendJSON(protocol.Progress, id, protocol.StepMessage{Step: seg.Steps[0].ID, Text: sanitize.CutStart(text, maxText)})
	}
}
