package schedule

import (
	"context"
	"fmt"
	"slices"

	"deployer/engine/program"
)

// handlers runs the notified handlers of the play. A handler whose notifying steps are
// still in the segment joins the segment, and the agent decides by their results.
func (h *host) handlers(ctx context.Context, p *program.Play) error {
	nth := h.flushes[p] + 1
	h.flushes[p] = nth
	for _, t := range p.Handlers {
		c := &taskCall{task: t, op: h.cursor, id: t.ID, nth: nth}
		if nth > 1 {
			c.id += fmt.Sprintf("@%d", nth)
		}
		if !h.due(t) {
			c.onChange = h.notifiers(t)
			if len(c.onChange) == 0 {
				continue
			}
			if !h.unattended(t) {
				if err := h.flush(ctx); err != nil {
					return err
				}
			}
		}
		if !h.stillWanted(c) {
			continue
		}
		if err := h.perform(ctx, c); err != nil {
			return err
		}
		h.after(func() { delete(h.notified, t) })
		h.seg.markHandled(t)
	}
	h.cursor++
	return nil
}

// due reports whether a handler was notified and has not run since.
func (h *host) due(t *program.Task) bool {
	_, ran := h.seg.handled[t]
	return h.notified[t] && !ran
}

// notifiers returns the steps of the segment that notify t when they change something,
// since t was last in the segment.
func (h *host) notifiers(t *program.Task) []string {
	var out []string
	for _, e := range h.seg.entries[h.seg.handled[t]:] {
		if e.step != nil && slices.Contains(e.task.Notify, t) {
			out = append(out, e.step.ID)
		}
	}
	return out
}

// unattended reports whether the agent can run the handler without a decision of the
// controller.
func (h *host) unattended(t *program.Task) bool {
	return t.Mode != program.OnController && t.Delegate == nil && !t.NeedsEvaluation() && t.Throttle == nil && !t.RunOnce && !h.seg.registers(t.Refs())
}

// stillWanted reports whether a handler must run, or may have to. The results decide when
// the segment with its notifiers was sent meanwhile.
func (h *host) stillWanted(c *taskCall) bool {
	if len(c.onChange) == 0 {
		return true
	}
	if h.due(c.task) {
		c.onChange = nil
		return true
	}
	c.onChange = h.notifiers(c.task)
	return len(c.onChange) > 0
}

// forceHandlers runs the notified handlers on a host that has failed, if the play has
// force_handlers. Their failures are events only: the first failure of the host counts.
func (h *host) forceHandlers(ctx context.Context, f *hostFailure) {
	p := h.play()
	if f == nil || f.unreachable || f.cancelled || p == nil || !p.ForceHandlers || len(h.notified) == 0 {
		return
	}
	at := h.cursor
	if err := h.handlers(ctx, p); err == nil {
		_ = h.flush(ctx)
	}
	h.cursor = at
}
