package revert

import (
	"fmt"
	"maps"
	"slices"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// emitGates emits what follows the restored steps of a section, in the original
// order: changes that need their files first, gates and handlers.
func (b *builder) emitGates(p *section) {
	hosts := b.history.changedHosts(p)
	flushed := false
	for _, n := range p.nodes {
		switch n.kind {
		case program.OpBarrier:
			b.barrier = true
		case program.OpTask:
			b.undo(n.task, true)
			b.gate(n, hosts)
		case program.OpFlush:
			if !flushed {
				for _, h := range b.from.Handlers {
					b.undo(h, true)
				}
			}
			flushed = true
			if len(b.play.Handlers) > 0 {
				b.emit(program.Op{Kind: program.OpFlush})
			}
		}
	}
}

// gate emits the gate of a task, which holds the hosts until a service is back.
func (b *builder) gate(n node, hosts map[string]bool) {
	if n.rescue {
		return
	}
	g := n.task.Gate(b.known(n.task, slices.Concat(n.when, n.task.When)))
	if g == nil {
		return
	}
	g.OnlyHosts = b.unskipped(hosts, n.task.ID)
	if g.OnlyHosts != nil && len(g.OnlyHosts) == 0 || !b.repeatable(g) {
		return
	}
	g.Notify, g.Needs, g.Throttle = nil, nil, b.throttle(g.Throttle)
	b.task(g)
}

// unskipped removes the hosts on which the run skipped a task.
func (b *builder) unskipped(hosts map[string]bool, task string) map[string]bool {
	if hosts == nil || b.Log == nil {
		return hosts
	}
	out := maps.Clone(hosts)
	maps.DeleteFunc(out, func(host string, _ bool) bool { return b.Log.Skipped(host, task) })
	return out
}

// repeatHandlers prepares the handlers of restored steps on the hosts where they
// ran. A handler that has changed something itself is reverted, and so not repeated,
// unless it makes a service follow its files.
func (b *builder) repeatHandlers(p *program.Play, root *section) {
	b.handlers = map[*program.Task]*program.Task{}
	for _, h := range p.Handlers {
		again, gate := h.Gate(b.known(h, h.When)), true
		if again == nil {
			again, gate = h.WithConditions(b.known(h, h.When)), false
		}
		again.OnlyHosts = b.notified(h, p, root)
		if !gate && again.OnlyHosts != nil {
			maps.DeleteFunc(again.OnlyHosts, func(host string, _ bool) bool {
				return len(b.history.items[h.ID][host]) > 0 || !b.ran(h, host)
			})
		}
		if again.OnlyHosts != nil && len(again.OnlyHosts) == 0 || !b.repeatable(again) {
			continue
		}
		again.Play, again.Block, again.Needs, again.Throttle = b.play, nil, nil, b.throttle(again.Throttle)
		b.handlers[h] = again
		b.play.Handlers = append(b.play.Handlers, again)
	}
	for _, again := range b.play.Handlers {
		var notify []*program.Task
		for _, h := range again.Notify {
			if other := b.handlers[h]; other != nil {
				notify = append(notify, other)
			}
		}
		again.Notify = notify
	}
}

// ran reports whether a handler ran on a host. Only the log of the run knows about
// actions.
func (b *builder) ran(h *program.Task, host string) bool {
	if h.Mode == program.OnController {
		return b.Log == nil || b.Log.Ran(host, h.ID)
	}
	return b.history.ran[h.ID][host]
}

// notified returns the hosts on which a step that notifies the handler is restored
// and something is left for the handler to act on; nil for all. Handlers come after
// those that notify them.
func (b *builder) notified(h *program.Task, p *program.Play, root *section) map[string]bool {
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
			maps.Copy(out, again.OnlyHosts)
		}
	}
	return out
}

// known returns the conditions that the inverse can compute. Options.Log knows the
// tasks that the others skipped.
func (b *builder) known(t *program.Task, conditions []*lang.Expr) []*lang.Expr {
	var out []*lang.Expr
	for _, e := range conditions {
		if b.missing(t, t.Closure(e.Refs())) == "" {
			out = append(out, e)
		}
	}
	return out
}

// missing returns a variable that only the run could register; "" when there is
// none.
func (b *builder) missing(t *program.Task, refs lang.Refs) string {
	for _, name := range refs.Names() {
		if b.own[name] && !b.asked[name] && !b.repeated[name] && !slices.Contains(t.Defines(), name) {
			return name
		}
	}
	return ""
}

// repeatable reports whether a gate or handler can be executed again, and records
// the variables that it needs.
func (b *builder) repeatable(t *program.Task) bool {
	for _, refs := range []lang.Refs{t.Refs(), t.AfterRefs()} {
		if name := b.missing(t, refs); name != "" {
			b.leftOut = append(b.leftOut, fmt.Sprintf("%q: it uses the variable %s, which only a step of the original run can register", t.Name, name))
			return false
		}
		b.uses(refs)
	}
	b.asks = b.asks || t.Mode == program.OnController
	return true
}

// uses records that the inverse uses variables of read-only tasks.
func (b *builder) uses(refs lang.Refs) {
	b.asks = b.asks || slices.ContainsFunc(refs.Names(), func(name string) bool { return b.asked[name] })
}
