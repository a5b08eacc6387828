package schedule

import (
	"fmt"
	"maps"
	"slices"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// checkState is what a host knows, in a check, of what it did not do.
type checkState struct {
	// firstChange is the name of the first step that would change something.
	firstChange string
	// tentativeVars are the registered names whose values are not those of a real run.
	tentativeVars map[string]tentative
	// changedSince are the registered names of steps that ran after one that would
	// change something: in a real run they may see something else.
	changedSince map[string]bool
	// agentIncomplete: what the agent has seen of this check is not all that the host would
	// have been through by now.
	agentIncomplete bool
	// limits are how many hosts may be at once in a block, or do a task.
	limits map[any]int
}

// tentative is the result of a step that did not run.
type tentative struct {
	step string // its name
	// statusUnknown: it is not even known whether it would change something.
	statusUnknown bool
}

// unknownReason says why something that looks at refs cannot be known in a check;
// empty when it can.
func (h *host) unknownReason(refs lang.Refs) string {
	if len(h.tentativeVars) == 0 {
		return ""
	}
	names := refs.Names()
	for _, name := range slices.Sorted(maps.Keys(h.tentativeVars)) {
		u := h.tentativeVars[name]
		if refs.Beyond(name) || u.statusUnknown && slices.Contains(names, name) {
			return fmt.Sprintf("it looks at %s, the result of %q, which has not run", name, u.step)
		}
	}
	return ""
}

// skipByCondition records that a task's condition does not hold. In a check it may still
// hold in a real run.
func (h *host) skipByCondition(c *taskCall, reason string) {
	if h.readsRunVars(c.task.WhenRefs()) {
		h.skipUnknown(c, nil, readsRunReason)
		return
	}
	h.skipItem(c, nil, reason)
}

const readsRunReason = "its condition looks at run, which is different in a real run"

// readsRunVars tells whether a condition may hold in a real run though it does not in
// this one.
func (h *host) readsRunVars(refs lang.Refs) bool {
	return h.run.opts.CheckOnly && slices.Contains(refs.Names(), "run")
}

// markTentative notes that names do not have the values of a real run.
func (h *host) markTentative(names []string, u tentative) {
	if h.tentativeVars == nil {
		h.tentativeVars = map[string]tentative{}
	}
	for _, name := range names {
		h.tentativeVars[name] = u
	}
}

// adjustCheckResult completes the result of a check: that a step fails now says little
// when a step before it would have changed something, and what it registers is
// not what it will.
func (h *host) adjustCheckResult(e *entry, res *engine.Result) {
	if !h.run.opts.CheckOnly {
		return
	}
	h.failMissingDir(e, res)
	certain := res.Failure != nil && res.Failure.Deterministic && !h.readsChangedVars(e.task)
	if res.Status == engine.StatusFailed && !certain && e.step != nil && h.checkState.firstChange != "" {
		res.Unknown = fmt.Sprintf("its check fails as things are now, which %q before it may change: %s", h.checkState.firstChange, res.Failure.Message)
		res.Status, res.Failure, res.Change = engine.StatusSkipped, nil, nil
	}
	pending := res.Failure == nil && res.Change != nil && len(res.Change.Pending()) > 0
	if (pending || res.Unknown != "") && h.checkState.firstChange == "" {
		h.checkState.firstChange = res.Name
	}
	h.agentIncomplete = h.agentIncomplete || res.Unknown != "" || pending && e.step == nil
	switch {
	case res.Unknown != "":
		h.markTentative(e.task.Defines(), tentative{res.Name, true})
	case pending:
		h.markTentative(e.task.Defines(), tentative{res.Name, false})
	case res.Status == engine.StatusSkipped && len(e.task.Sets) > 0: // what was known of them still holds
	case e.at == nil || e.at.loop.done == 0:
		for _, name := range e.task.Defines() {
			delete(h.tentativeVars, name)
		}
	}
	for _, name := range e.task.Defines() {
		if h.changedSince == nil {
			h.changedSince = map[string]bool{}
		}
		h.changedSince[name] = h.checkState.firstChange != ""
	}
	res.MaxParallel = h.maxParallel(e.task)
}

// failMissingDir fails a step as a real run would, for a directory that is not there and
// that nothing may have brought by then.
func (h *host) failMissingDir(e *entry, res *engine.Result) {
	if res.Change == nil || res.Change.MissingDir == "" || res.Failure != nil {
		return
	}
	if h.agentIncomplete || e.task.Delegate != nil || h.readsChangedVars(e.task) || h.run.isDelegate(h.name) {
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

// readsChangedVars tells whether a task looks at what was registered after the first
// step that would change something.
func (h *host) readsChangedVars(t *program.Task) bool {
	all := []lang.Refs{t.WhenRefs(), t.Refs()}
	for b := t.Block; b != nil; b = b.Parent {
		all = append(all, b.Refs())
	}
	for _, refs := range all {
		if slices.ContainsFunc(refs.Names(), func(name string) bool { return h.changedSince[name] }) {
			return true
		}
	}
	return false
}

// noteLimit notes how many hosts may be at once in a block, or do a task.
func (h *host) noteLimit(what any, n int) {
	if h.limits == nil {
		h.limits = map[any]int{}
	}
	h.limits[what] = n
}

// maxParallel is how many hosts at most do a task at one time; 0 for no limit.
func (h *host) maxParallel(t *program.Task) int {
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

// evaluateUnexecuted applies changed_when to a step that did not run, as far as that
// can be known.
func (h *host) evaluateUnexecuted(t *program.Task, e *entry, res *engine.Result) {
	if t.ChangedWhen == nil {
		return
	}
	if changed, _, err := h.holds(t, t.ChangedWhen, e, view(*res)); err == nil && !changed {
		res.Status = engine.StatusOK
	}
}
