package schedule

import (
	"slices"

	"deployer/engine"
	"deployer/engine/program"
)

// changedStep is a step that has changed something and was not restored.
type changedStep struct {
	name, host string
	op         int
	// rollout is the block of the rollout in whose body the step was; nil outside.
	rollout *program.Block
}

// rememberChange notes a step that has changed something. The steps of a restore are none.
func (h *host) rememberChange(e *entry, res engine.Result) {
	if h.restoring != nil || h.run.opts.CheckOnly {
		return
	}
	one := changedStep{name: res.Name, host: h.name, op: e.op}
	if e.on != "" {
		one.host = e.on
	}
	if h.inRollout != nil && h.inRollout.placeOf(e.op) == inBody {
		one.rollout = h.inRollout.block
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.changes, one) { // the iterations of a loop
		h.changes = append(h.changes, one)
	}
}

// forgetRestored takes out the steps of a rollout that were restored.
func (h *host) forgetRestored(b *program.Block) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes = slices.DeleteFunc(h.changes, func(c changedStep) bool { return c.rollout == b })
}

// stays returns the steps whose changes stay after a run that ended as the report says: on all
// hosts when it ended early, otherwise on those that failed. Steps are in the order of the
// program.
func (r *run) stays(report *engine.Report) []engine.Stay {
	early := report.Interrupted || report.Aborted != ""
	broken := map[string]bool{}
	for _, h := range report.Broken() {
		broken[h.Host] = true
	}
	if report.Check || !early && len(broken) == 0 {
		return nil
	}
	type step struct {
		op   int
		name string
	}
	hosts, order := map[step][]string{}, []step{}
	for _, h := range r.hosts {
		h.mu.Lock()
		changes := slices.Clone(h.changes)
		h.mu.Unlock()
		for _, c := range changes {
			if !early && !broken[c.host] {
				continue
			}
			s := step{c.op, c.name}
			if hosts[s] == nil {
				order = append(order, s)
			}
			if !slices.Contains(hosts[s], c.host) {
				hosts[s] = append(hosts[s], c.host)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b step) int { return a.op - b.op })
	var out []engine.Stay
	for _, s := range order {
		out = append(out, engine.Stay{Step: s.name, Hosts: hosts[s]})
	}
	return out
}
