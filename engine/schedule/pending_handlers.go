package schedule

import (
	"context"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/engine/session"
)

// handlerName returns the name of a handler on hosts: the same in the next run, also after
// tasks were added before it.
func (r *run) handlerName(t *program.Task) string {
	return r.prog.Name + "/" + t.Role + "/" + t.Kind.Name + "/" + t.Name
}

// noteHandlers adds to a step the handlers that it notifies, or the handler that it is.
// Handlers that run on the controller or on another host are excluded: the host cannot know
// whether they ran.
func (h *host) noteHandlers(s *engine.Step, t *program.Task, at *iteration) {
	for _, n := range t.Notify {
		if n.Mode != program.OnController && n.Delegate == nil {
			s.Notifies = append(s.Notifies, h.run.handlerName(n))
		}
	}
	if last := at == nil || at.index == at.loop.total-1; t.Handler && last {
		s.Handles = h.run.handlerName(t)
	}
}

// loadPendingHandlers reads the pending handlers of earlier runs, on the first connection.
func (h *host) loadPendingHandlers(s session.Session) {
	d, ok := s.(session.HandlerStore)
	if !ok || h.pendingHandlers != nil {
		return
	}
	h.pendingHandlers = map[string]bool{}
	for _, name := range d.PendingHandlers() {
		h.pendingHandlers[name] = true
	}
	h.run.coordinator.noteLeftInside(h)
}

// restoreHandlers notifies the handlers of a play that are pending from an earlier run.
func (h *host) restoreHandlers(ctx context.Context, p *program.Play) error {
	for _, t := range p.Handlers {
		name := h.run.handlerName(t)
		if !h.pendingHandlers[name] {
			continue
		}
		// The end of the play before forgets notified handlers.
		if err := h.flush(ctx); err != nil {
			return err
		}
		delete(h.pendingHandlers, name)
		h.notified[t] = true
		h.run.emit(engine.Event{Type: engine.EventStepText, Host: h.name, Step: t.ID, Name: t.Name, Role: t.Role,
			Text: "pending from an earlier run"})
	}
	return nil
}
