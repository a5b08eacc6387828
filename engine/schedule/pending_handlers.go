package schedule

import (
	"context"

	"deployer/engine"
	"deployer/engine/program"
)

// handlerName is what a host remembers a handler by: the same in the next run,
// also when tasks were added before it.
func (r *run) handlerName(t *program.Task) string {
	return r.prog.Name + "/" + t.Role + "/" + t.Kind.Name + "/" + t.Name
}

// noteHandlers tells the host which handlers the step makes necessary, and which
// it is. Those that run on the controller or on another host are not remembered:
// a host cannot tell whether they did.
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

// loadPendingHandlers takes over, on the first connection, what earlier runs left undone.
func (h *host) loadPendingHandlers(s *session) {
	d, ok := s.Host.(HandlerStore)
	if !ok || h.pendingHandlers != nil {
		return
	}
	h.pendingHandlers = map[string]bool{}
	for _, name := range d.PendingHandlers() {
		h.pendingHandlers[name] = true
	}
}

// restoreHandlers notifies the handlers of a play that an earlier run left undone.
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
			Text: "an earlier run has left it undone"})
	}
	return nil
}
