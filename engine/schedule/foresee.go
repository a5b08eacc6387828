package schedule

import (
	"fmt"
	"maps"
	"slices"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// foresight is what a host knows, in a check, of what it did not do.
type foresight struct {
	// cause is the name of the first step that would change something.
	cause string
	// unsure are the registered names whose values are not those of a real run.
	unsure map[string]unsure
	// later are the registered names of steps that ran after one that would
	// change something: in a real run they may see something else.
	later map[string]bool
	// blind: what the agent has seen of this check is not all that the host would
	// have been through by now.
	blind bool
	// limits are how many hosts may be at once in a block, or do a task.
	limits map[any]int
}

// unsure is the result of a step that did not run.
type unsure struct {
	step string // its name
	// whole: it is not even known whether it would change something.
	whole bool
}

// unknowable says why something that looks at refs cannot be known in a check;
// empty when it can.
func (h *host) unknowable(refs lang.Refs) string {
	if len(h.unsure) == 0 {
		return ""
	}
	names := refs.Names()
	for _, name := range slices.Sorted(maps.Keys(h.unsure)) {
		u := h.unsure[name]
		if refs.Beyond(name) || u.whole && slices.Contains(names, name) {
			return fmt.Sprintf("it looks at %s, the result of %q, which has not run", name, u.step)
		}
	}
	return ""
}

// skipFor records that a task's condition does not hold. In a check it may still
// hold in a real run.
func (h *host) skipFor(c *call, reason string) {
	if h.onlyReal(c.task.WhenRefs()) {
		h.skipUnknown(c, nil, otherRun)
		return
	}
	h.skipItem(c, nil, reason)
}

const otherRun = "its condition looks at run, which is different in a real run"

// onlyReal tells whether a condition may hold in a real run though it does not in
// this one.
func (h *host) onlyReal(refs lang.Refs) bool {
	return h.run.opts.Check && slices.Contains(refs.Names(), "run")
}

// doubt notes that names do not have the values of a real run.
func (h *host) doubt(names []string, u unsure) {
	if h.unsure == nil {
		h.unsure = map[string]unsure{}
	}
	for _, name := range names {
		h.unsure[name] = u
	}
}

// foresee completes the result of a check: that a step fails now says little
// when a step before it would have changed something, and what it registers is
// not what it will.
func (h *host) foresee(e *entry, res *engine.Result) {
	if !h.run.opts.Check {
		return
	}
	h.lacking(e, res)
	certain := res.Failure != nil && res.Failure.Deterministic && !h.looksLater(e.task)
	if res.Status == engine.StatusFailed && !certain && e.step != nil && h.foresight.cause != "" {
		res.Unknown = fmt.Sprintf("its check fails as things are now, which %q before it may change: %s", h.foresight.cause, res.Failure.Message)
		res.Status, res.Failure, res.Change = engine.StatusSkipped, nil, nil
	}
	pending := res.Failure == nil && res.Change != nil && len(res.Change.Pending()) > 0
	if (pending || res.Unknown != "") && h.foresight.cause == "" {
		h.foresight.cause = res.Name
	}
	h.blind = h.blind || res.Unknown != "" || pending && e.step == nil
	switch {
	case res.Unknown != "":
		h.doubt(e.task.Defines(), unsure{res.Name, true})
	case pending:
		h.doubt(e.task.Defines(), unsure{res.Name, false})
	case res.Status == engine.StatusSkipped && len(e.task.Sets) > 0: // what was known of them still holds
	case e.at == nil || e.at.loop.done == 0:
		for _, name := range e.task.Defines() {
			delete(h.unsure, name)
		}
	}
	for _, name := range e.task.Defines() {
		if h.later == nil {
			h.later = map[string]bool{}
		}
		h.later[name] = h.foresight.cause != ""
	}
	res.MaxParallel = h.atOnce(e.task)
}

// lacking fails a step as a real run would, for a directory that is not there and
// that nothing may have brought by then.
func (h *host) lacking(e *entry, res *engine.Result) {
	if res.Change == nil || res.Change.MissingDir == "" || res.Failure != nil {
		return
	}
	if h.blind || e.task.Delegate != nil || h.looksLater(e.task) || h.run.isDelegate(h.name) {
		return
	}
	failure := asFailure(engine.MissingDirError(res.Change.MissingDir))
	failure.Deterministic = true
	res.Status, res.Failure, res.Change = engine.StatusFailed, failure, nil
}

// isDelegate tells whether other hosts may do tasks on this one.
func (r *run) isDelegate(host string) bool {
	may := func(t *program.Task) bool { return t.Delegate != nil && t.Delegate.MayBe(host) }
	return slices.ContainsFunc(r.prog.Tasks, may) ||
		slices.ContainsFunc(r.prog.Plays, func(p *program.Play) bool { return slices.ContainsFunc(p.Handlers, may) })
}

// looksLater tells whether a task looks at what was registered after the first
// step that would change something.
func (h *host) looksLater(t *program.Task) bool {
	all := []lang.Refs{t.WhenRefs(), t.Refs()}
	for b := t.Block; b != nil; b = b.Parent {
		all = append(all, b.Refs())
	}
	for _, refs := range all {
		if slices.ContainsFunc(refs.Names(), func(name string) bool { return h.later[name] }) {
			return true
		}
	}
	return false
}

// limit notes how many hosts may be at once in a block, or do a task.
func (h *host) limit(what any, n int) {
	if h.limits == nil {
		h.limits = map[any]int{}
	}
	h.limits[what] = n
}

// atOnce is how many hosts at most do a task at one time; 0 for no limit.
func (h *host) atOnce(t *program.Task) int {
	least := h.limits[t]
	narrow := func(n int) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for b := t.Block; b != nil; b = b.Parent {
		narrow(h.limits[b])
	}
	if b := h.batches[t.Play.Index]; b != nil {
		narrow(len(b.hosts))
	}
	return least
}

// judgeUndone applies changed_when to a step that did not run, as far as that
// can be known.
func (h *host) judgeUndone(t *program.Task, e *entry, res *engine.Result) {
	if t.ChangedWhen == nil {
		return
	}
	if changed, _, err := h.holds(t, t.ChangedWhen, e, view(*res)); err == nil && !changed {
		res.Status = engine.StatusOK
	}
}
