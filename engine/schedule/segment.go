package schedule

import (
	"context"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// A segment is sent when it reaches one of these limits, so that a message stays well below
// the maximum of a frame, 1 MiB, and the first results arrive early.
const (
	maxSegmentBytes = 512 << 10
	maxSegmentSteps = 400
)

// segment holds the entries of a host that are not sent yet.
type segment struct {
	entries []*entry
	steps   int
	bytes   int
	// names holds the names that its steps will register or set.
	names map[string]bool
	// handled holds, for each handler in the segment, the entry up to which it handles
	// notifications.
	handled map[*program.Task]int
}

// entry is one part of a segment, in order: a step of the agent, or work of the controller
// that follows the success of all entries before it.
type entry struct {
	op    int // the operation of the program
	step  *engine.Step
	local func()

	task            *program.Task
	at              *iteration // nil without a loop
	on              string     // the machine of delegate_to
	needsEvaluation bool       // the controller evaluates the result
	// conditional is true for handlers that run only if a step of this segment changed
	// something.
	conditional bool
	// interrupted is true when the step had begun when the connection was lost: its next run may
	// not see what it changed.
	interrupted bool
	result      *engine.Result
}

// markHandled records that a handler is in the segment.
func (s *segment) markHandled(t *program.Task) {
	if s.steps == 0 {
		return
	}
	if s.handled == nil {
		s.handled = map[*program.Task]int{}
	}
	s.handled[t] = len(s.entries)
}

// after runs local when all entries so far have succeeded.
func (h *host) after(local func()) {
	if h.seg.steps == 0 {
		local()
		return
	}
	h.seg.entries = append(h.seg.entries, &entry{op: h.cursor, local: local})
}

// add appends an entry, and sends the segment when it is full or the controller must
// evaluate the result.
func (h *host) add(ctx context.Context, e *entry) error {
	h.seg.entries = append(h.seg.entries, e)
	h.seg.steps++
	h.seg.bytes += len(e.step.Args) + 300 // its other fields
	h.seg.willRegister(e.task.Defines()...)
	if e.needsEvaluation || h.seg.bytes > maxSegmentBytes || h.seg.steps >= maxSegmentSteps {
		return h.flush(ctx)
	}
	return nil
}

// need sends the segment when refs read a name that it registers.
func (h *host) need(ctx context.Context, refs lang.Refs) error {
	if h.seg.registers(refs) {
		return h.flush(ctx)
	}
	return nil
}

// willRegister records names that the segment will set.
func (s *segment) willRegister(names ...string) {
	if s.names == nil {
		s.names = map[string]bool{}
	}
	for _, name := range names {
		s.names[name] = true
	}
}

func (s *segment) registers(refs lang.Refs) bool {
	for name := range s.names {
		if refs.Has(name) {
			return true
		}
	}
	return false
}

// flush sends the segment and waits for its end. After a failure the cursor is at the
// operation that failed.
func (h *host) flush(ctx context.Context) error {
	if len(h.seg.entries) == 0 {
		return nil
	}
	entries := h.seg.entries
	h.seg = segment{}
	f := &dispatch{host: h, entries: entries}
	err := f.run(ctx)
	if err != nil && f.next < len(entries) {
		h.cursor = entries[f.next].op
	}
	return err
}

// succeeded reports whether the next step may start after this one.
func (e *entry) succeeded() bool {
	if e.result.Status == engine.StatusCancelled {
		return false
	}
	return e.result.Failure == nil || e.result.Ignored && !e.rescued()
}
