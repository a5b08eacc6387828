package schedule

import (
	"fmt"
	"maps"
	"slices"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// checkState is the record that a host has, in check mode, of the effects of steps that it
// did not apply.
type checkState struct {
	// firstChange is the name of the first step that would change something.
	firstChange string
	// tentativeVars holds the registered names whose values differ in a real run.
	tentativeVars map[string]tentative
	// changedSince holds the names that steps registered after the first change: in a real
	// run these steps may find something else.
	changedSince map[string]bool
	// agentIncomplete is true when the agent has not seen all earlier steps of this check.
	agentIncomplete bool
	// limits holds the maximum number of hosts in parallel for blocks and tasks.
	limits map[any]int
}

// tentative is the result of a step that check mode did not apply.
type tentative struct {
	step string // its name
	// statusUnknown is true when the check could not find out whether the step would change
	// something.
	statusUnknown bool
}

// unknownReason returns the reason why the value of refs is unknown in check mode; empty
// when it is known.
func (h *host) unknownReason(refs lang.Refs) string {
	if len(h.tentativeVars) == 0 {
		return ""
	}
	names := refs.Names()
	for _, name := range slices.Sorted(maps.Keys(h.tentativeVars)) {
		u := h.tentativeVars[name]
		if refs.Beyond(name) || u.statusUnknown && slices.Contains(names, name) {
			return fmt.Sprintf("the task reads %s, the result of %q, which has not run", name, u.step)
		}
	}
	return ""
}

// skipByCondition records that a task's condition is false. In check mode it may be true in
// a real run.
func (h *host) skipByCondition(c *taskCall, reason string) {
	if h.readsRunVars(c.task.WhenRefs()) {
		h.skipUnknown(c, nil, readsRunReason)
		return
	}
	h.skipItem(c, nil, reason)
}

const readsRunReason = "its condition reads the variable run, which is different in a real run"

// readsRunVars reports whether a condition reads the variable run, which differs in a real
// run.
func (h *host) readsRunVars(refs lang.Refs) bool {
	return h.run.opts.CheckOnly && slices.Contains(refs.Names(), "run")
}

// markTentative records that names do not have the values of a real run.
func (h *host) markTentative(names []string, u tentative) {
	if h.tentativeVars == nil {
		h.tentativeVars = map[string]tentative{}
	}
	for _, name := range names {
		h.tentativeVars[name] = u
	}
}

// adjustCheckResult completes the result of a check. A failure after a step that would have
// changed something is unknown, because that change may prevent it; so are the registered
// values.
func (h *host) adjustCheckResult(e *entry, res *engine.Result) {
	if !h.run.opts.CheckOnly {
		return
	}
	h.failMissingDir(e, res)
	certain := res.Failure != nil && res.Failure.Deterministic && !h.readsChangedVars(e.task)
	if res.Status == engine.StatusFailed && !certain && e.step != nil && h.checkState.firstChange != "" {
		res.Unknown = fmt.Sprintf("its check fails in the present state, which the earlier step %q may change: %s", h.checkState.firstChange, res.Failure.Message)
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
	case res.Status == engine.StatusSkipped && len(e.task.Sets) > 0: // their values stay
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

// failMissingDir fails a step, as a real run would, for a directory that does not exist and
// that no earlier step may have created.
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

// isDelegate reports whether other hosts may delegate tasks to this one.
func (r *run) isDelegate(host string) bool {
	may := func(t *program.Task) bool { return t.Delegate != nil && t.Delegate.MayBe(host) }
	return slices.ContainsFunc(r.prog.Tasks, may) ||
		slices.ContainsFunc(r.prog.Plays, func(p *program.Play) bool { return slices.ContainsFunc(p.Handlers, may) })
}

// readsChangedVars reports whether a task reads a name that was registered after the first
// change.
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

// noteLimit records the maximum number of hosts in parallel for a block or task.
func (h *host) noteLimit(what any, n int) {
	if h.limits == nil {
		h.limits = map[any]int{}
	}
	h.limits[what] = n
}

// maxParallel returns the maximum number of hosts that run a task in parallel; 0 means no
// limit.
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

// evaluateUnexecuted applies changed_when to a step that did not run, as far as its result
// is known.
func (h *host) evaluateUnexecuted(t *program.Task, e *entry, res *engine.Result) {
	if t.ChangedWhen == nil {
		return
	}
	if changed, _, err := h.holds(t, t.ChangedWhen, e, view(*res)); err == nil && !changed {
		res.Status = engine.StatusOK
	}
}
