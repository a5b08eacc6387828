package schedule

import (
	"context"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// A segment is sent when it has this much in it, so that a message stays well
// below the 1 MiB that a frame may have, and results begin to come.
const (
	maxSegmentBytes = 512 << 10
	maxSegmentSteps = 400
)

// segment is what a host has gathered and not sent yet.
type segment struct {
	entries []*entry
	steps   int
	bytes   int
	// names are what its steps will register or set.
	names map[string]bool
	// handled says up to which entry each handler in the segment has seen to
	// what notified it.
	handled map[*program.Task]int
}

// entry is one thing of a segment, in order: a step for the agent, or
// something that the controller does once all before it went well.
type entry struct {
	op    int // where the program goes on from if it fails
	step  *engine.Step
	local func()

	task  *program.Task
	at    *iteration // nil without a loop
	on    string     // the machine that it was delegated to
	judge bool       // the controller decides how it ended
	// conditional steps are handlers that run only if a step of this segment
	// changed something.
	conditional bool
	// unsure: it was begun when the connection was lost, so it may have
	// changed something that its next run no longer sees.
	unsure bool
	result *engine.Result
}

// markHandled notes that a handler has its place in the segment.
func (s *segment) markHandled(t *program.Task) {
	if s.steps == 0 {
		return
	}
	if s.handled == nil {
		s.handled = map[*program.Task]int{}
	}
	s.handled[t] = len(s.entries)
}

// after does something once all that is gathered so far went well.
func (h *host) after(local func()) {
	if h.seg.steps == 0 {
		local()
		return
	}
	h.seg.entries = append(h.seg.entries, &entry{op: h.cursor, local: local})
}

// add puts a step into the segment, and sends the segment when it is full or
// when the controller has to look at the step's result.
func (h *host) add(ctx context.Context, e *entry) error {
	h.seg.entries = append(h.seg.entries, e)
	h.seg.steps++
	h.seg.bytes += len(e.step.Args) + 300 // its other fields
	h.seg.willRegister(e.task.Defines()...)
	if e.judge || h.seg.bytes > maxSegmentBytes || h.seg.steps >= maxSegmentSteps {
		return h.flush(ctx)
	}
	return nil
}

// need sends the segment when refs look at something that it registers.
func (h *host) need(ctx context.Context, refs lang.Refs) error {
	if h.seg.registers(refs) {
		return h.flush(ctx)
	}
	return nil
}

// willRegister says that the segment will give values to names.
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

// flush sends what is gathered and waits until all of it is done. After a
// failure the cursor is at the operation that failed.
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

// succeeded tells whether the step ended so that the next one may begin.
func (e *entry) succeeded() bool {
	if e.result.Status == engine.StatusCancelled {
		return false
	}
	return e.result.Failure == nil || e.result.Ignored && !e.rescued()
}
