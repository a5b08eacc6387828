package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/graph"
	"deployer/engine/program"
	"deployer/strictyaml"
)

// handlers compiles the handlers of a play or a role.
func (c *compiler) handlers(x taskContext, nodes []*yaml.Node) {
	for _, n := range nodes {
		raw := c.readTask(x.doc, n)
		if raw == nil {
			c.lost(n)
			continue
		}
		if raw.module == nil {
			c.fail(x.doc.At(n).Errorf("a handler must be a task with a module"))
			c.lost(n)
			continue
		}
		c.rejectKeywords(x.doc, raw, "a handler", append(inheritable(), "name", "when", "loop", "loop_control", "listen", "register", "notify", "changed_when",
			"failed_when", "retries", "delay", "until", "throttle", "run_once", "vars", "secret")...)
		if raw.Name == "" {
			c.fail(x.doc.At(n).Errorf("a handler needs a name, by which tasks notify it"))
			c.lost(n)
			continue
		}
		h := c.task(x, raw)
		h.Handler = true
		h.Block = nil
		names := x.state.byName[x.role]
		if names == nil {
			names = map[string]*program.Task{}
			x.state.byName[x.role] = names
		}
		if first := names[h.Name]; first != nil {
			c.fail(h.Pos.Errorf("handler %q exists already, at %s", h.Name, first.Pos))
			continue
		}
		names[h.Name] = h
		x.state.handlers = append(x.state.handlers, h)
		for _, topic := range c.texts(x.doc, &raw.Listen, "listen") {
			x.state.listeners[topic.Value] = append(x.state.listeners[topic.Value], h)
		}
	}
}

// notify connects tasks with the handlers that they name, and with all handlers that listen
// to the name.
func (c *compiler) notify(state *playState) {
	for _, p := range state.notifies {
		found := slices.Clone(state.listeners[p.name])
		if h := state.handler(p); h != nil {
			found = append(found, h)
		}
		if len(found) == 0 {
			known := append(names(state.handlers), slices.Collect(maps.Keys(state.listeners))...)
			c.fail(p.pos.Errorf("notify: this play has no handler %q%s", p.name, strictyaml.Hint(p.name, known)))
		}
		for _, h := range found {
			if !slices.Contains(p.from.Notify, h) {
				p.from.Notify = append(p.from.Notify, h)
			}
		}
	}
}

// handler returns the handler of a name: of the task's own role, else of the play, else of
// any other role of the play.
func (s *playState) handler(p pendingNotify) *program.Task {
	if h := s.byName[p.role][p.name]; h != nil {
		return h
	}
	if h := s.byName[""][p.name]; h != nil {
		return h
	}
	for _, h := range s.handlers {
		if h.Name == p.name {
			return h
		}
	}
	return nil
}

func names(tasks []*program.Task) []string {
	out := make([]string, len(tasks))
	for i, t := range tasks {
		out[i] = t.Name
	}
	return out
}

// orderHandlers keeps the order of definition, but moves a handler behind the handlers that
// notify it, so that one pass is enough.
func (c *compiler) orderHandlers(p *program.Play, state *playState) {
	g := graph.New[*program.Task]()
	g.Add(state.handlers...)
	for _, h := range state.handlers {
		for _, n := range h.Notify {
			g.AddEdge(h, n)
		}
	}
	order, err := g.Order()
	if err != nil {
		cycle := g.Cycle()
		c.fail(cycle[0].Pos.Errorf("handlers notify each other in a circle: %s",
			strings.Join(names(append(cycle, cycle[0])), " -> ")))
		return
	}
	p.Handlers = order
	for i, h := range order {
		h.ID = fmt.Sprintf("%d.%s.handler%d", p.Index+1, roleOr(h.Role, "play"), i+1)
	}
}
