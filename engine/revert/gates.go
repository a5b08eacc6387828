package revert

import (
	"fmt"
	"maps"
	"slices"

	"deployer/engine/playbook"
)

// emitGates does what comes when the steps of a part are back: what had to wait for
// files, gates and handlers, in the order in which they stood.
func (b *builder) emitGates(p *section) {
	hosts := b.history.changedHosts(p)
	flushed := false
	for _, n := range p.nodes {
		switch n.kind {
		case playbook.OpBarrier:
			b.barrier = true
		case playbook.OpTask:
			b.undo(n.task, true)
			b.gate(n, hosts)
		case playbook.OpFlush:
			if !flushed {
				for _, h := range b.from.Handlers {
					b.undo(h, true)
				}
			}
			flushed = true
			if len(b.play.Handlers) > 0 {
				b.emit(playbook.Op{Kind: playbook.OpFlush})
			}
		}
	}
}

// gate holds the hosts until what a task waits for is there again.
func (b *builder) gate(n node, hosts map[string]bool) {
	if n.rescue {
		return
	}
	g := n.task.Gate(b.known(n.task, slices.Concat(n.when, n.task.When)))
	if g == nil {
		return
	}
	g.Only = b.unskipped(hosts, n.task.ID)
	if g.Only != nil && len(g.Only) == 0 || !b.repeatable(g) {
		return
	}
	g.Notify, g.Needs, g.Throttle = nil, nil, b.throttle(g.Throttle)
	b.task(g)
}

// unskipped leaves out hosts on which the run has skipped a task.
func (b *builder) unskipped(hosts map[string]bool, task string) map[string]bool {
	if hosts == nil || b.Log == nil {
		return hosts
	}
	out := maps.Clone(hosts)
	maps.DeleteFunc(out, func(host string, _ bool) bool { return b.Log.Skipped(host, task) })
	return out
}

// repeatHandlers makes ready the handlers of steps that are put back, where they
// ran. What a handler has changed itself is put back as well, and so it is not
// done again; but for those that make what runs follow its files.
func (b *builder) repeatHandlers(p *playbook.Play, root *section) {
	b.handlers = map[*playbook.Task]*playbook.Task{}
	for _, h := range p.Handlers {
		again, gate := h.Gate(b.known(h, h.When)), true
		if again == nil {
			again, gate = h.On(b.known(h, h.When)), false
		}
		again.Only = b.notified(h, p, root)
		if !gate && again.Only != nil {
			maps.DeleteFunc(again.Only, func(host string, _ bool) bool {
				return len(b.history.items[h.ID][host]) > 0 || !b.ran(h, host)
			})
		}
		if again.Only != nil && len(again.Only) == 0 || !b.repeatable(again) {
			continue
		}
		again.Play, again.Block, again.Needs, again.Throttle = b.play, nil, nil, b.throttle(again.Throttle)
		b.handlers[h] = again
		b.play.Handlers = append(b.play.Handlers, again)
	}
	for _, again := range b.play.Handlers {
		var notify []*playbook.Task
		for _, h := range again.Notify {
			if other := b.handlers[h]; other != nil {
				notify = append(notify, other)
			}
		}
		again.Notify = notify
	}
}

// ran tells whether a handler was carried out on a host. Of actions only the log
// of the run knows.
func (b *builder) ran(h *playbook.Task, host string) bool {
	if h.Mode == playbook.OnController {
		return b.Log == nil || b.Log.Ran(host, h.ID)
	}
	return b.history.ran[h.ID][host]
}

// notified are the hosts on which something that notifies the handler is put
// back, and there is something to follow it; nil for all. Handlers come after
// those that notify them.
func (b *builder) notified(h *playbook.Task, p *playbook.Play, root *section) map[string]bool {
	if b.history.all {
		return nil
	}
	out := map[string]bool{}
	for _, t := range root.tasks() {
		if !slices.Contains(t.Notify, h) {
			continue
		}
		changed := b.history.changedHosts(root.sectionOf(t))
		for host := range b.history.items[t.ID] {
			if changed[host] {
				out[host] = true
			}
		}
	}
	for _, t := range p.Handlers {
		if !slices.Contains(t.Notify, h) {
			continue
		}
		for host := range b.history.items[t.ID] {
			out[host] = true
		}
		if again := b.handlers[t]; again != nil {
			maps.Copy(out, again.Only)
		}
	}
	return out
}

// known are those of the conditions that can be computed on the way back. Where
// others did not hold, Options.Skipped knows.
func (b *builder) known(t *playbook.Task, conditions []*playbook.Expr) []*playbook.Expr {
	var out []*playbook.Expr
	for _, e := range conditions {
		if b.missing(t, t.Closure(e.Refs())) == "" {
			out = append(out, e)
		}
	}
	return out
}

// missing is a name that only the run could register; empty when there is none.
func (b *builder) missing(t *playbook.Task, refs playbook.Refs) string {
	for _, name := range refs.Names() {
		if b.own[name] && !b.asked[name] && !slices.Contains(t.Defines(), name) {
			return name
		}
	}
	return ""
}

// repeatable tells whether a gate or handler can be carried out once more, and
// notes what it needs for that.
func (b *builder) repeatable(t *playbook.Task) bool {
	for _, refs := range []playbook.Refs{t.Refs(), t.AfterRefs()} {
		if name := b.missing(t, refs); name != "" {
			b.leftOut = append(b.leftOut, fmt.Sprintf("%q: it uses %s, which only a step of the run itself can find out", t.Name, name))
			return false
		}
		b.uses(refs)
	}
	b.asks = b.asks || t.Mode == playbook.OnController
	return true
}

// uses notes that something on the way back looks at variables.
func (b *builder) uses(refs playbook.Refs) {
	b.asks = b.asks || slices.ContainsFunc(refs.Names(), func(name string) bool { return b.asked[name] })
}
