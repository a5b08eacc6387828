package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/engine/redact"
	"deployer/jsontypes"
)

// record handles the result of a step: counters, events, handlers and registered names. record
// returns the result in its final form.
func (h *host) record(e *entry, res engine.Result) *engine.Result {
	res.Host, res.Secret, res.Delegate, res.RunOnce = h.name, res.Secret || e.task.Secret, e.on, e.task.RunOnce
	res.OnController = e.task.Mode == program.OnController
	if e.step != nil {
		res.Step, res.Name = e.step.ID, e.step.Name
	}
	if e.conditional && res.Status == engine.StatusSkipped {
		return &res // no step has notified the handler
	}
	if e.step != nil && e.step.Quiet && res.Failure == nil {
		return &res // a record of the scheduler's own
	}
	if h.preview != nil {
		h.preview.take(h, e, &res)
		return &res
	}
	h.boundRetained(e, &res)
	h.adjustCheckResult(e, &res)
	if res.Failure != nil && res.Status != engine.StatusCancelled && (e.task.IgnoreErrors || e.rescued()) {
		res.Ignored = true
	}
	h.count(res)
	h.learn(e.task, res)
	if res.Status == engine.StatusChanged {
		h.notify(e.task)
		h.countRolloutChange(e)
		h.rememberChange(e, res)
	}
	if e.task.Register != "" {
		h.registerResult(e, res)
	}
	h.define(e.task, res)
	h.run.emit(engine.Event{Type: engine.EventStepEnd, Host: h.name, Step: res.Step, Name: res.Name, Role: e.task.Role, Result: &res})
	return &res
}

// learn adds the output of a secret step to the redactor's secrets, before another task can
// use it.
func (h *host) learn(t *program.Task, res engine.Result) {
	if !res.Secret || t.Register == "" && len(t.Sets) == 0 || h.run.opts.Redactor.Learn(output(res)) {
		return
	}
	h.run.emit(engine.Event{Type: engine.EventWarning, Host: h.name, Text: fmt.Sprintf(
		"the output of the secret step %q has more than %d bytes: texts beyond that are not taken out where other steps show them", res.Name, redact.MaxOutput)})
}

// rescued reports whether a rescue part handles a failure of the entry.
func (e *entry) rescued() bool {
	for b := e.task.Block; b != nil; b = b.Parent {
		if b.Rescue > e.op && e.op > b.Begin && !e.task.Handler {
			return !e.task.IgnoreErrors
		}
	}
	return false
}

func (h *host) count(res engine.Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case res.Status == engine.StatusCancelled:
	case res.Failure != nil && res.Ignored:
		h.rep.OK++
	case res.Failure != nil:
		h.rep.Failed++
	case res.Status == engine.StatusChanged:
		h.rep.Changed++
	case res.Status == engine.StatusSkipped:
		h.rep.Skipped++
	case res.Status == engine.StatusOK:
		h.rep.OK++
	}
}

func (h *host) notify(t *program.Task) {
	for _, n := range t.Notify {
		h.notified[n] = true
	}
}

// view returns a result in the form of its registered name, with the lines of its texts.
func view(res engine.Result) map[string]any {
	out := output(res)
	addLines(out)
	out["changed"] = res.Status == engine.StatusChanged
	out["failed"] = res.Failure != nil
	out["skipped"] = res.Status == engine.StatusSkipped
	if res.Failure != nil {
		out["message"] = res.Failure.Message
	}
	return out
}

// output returns the output of the check and of Apply.
func output(res engine.Result) map[string]any {
	out := map[string]any{}
	if res.Change != nil {
		maps.Copy(out, jsontypes.Normalize(map[string]any(res.Change.Output)).(map[string]any))
	}
	if res.Output != nil {
		maps.Copy(out, jsontypes.Normalize(map[string]any(res.Output)).(map[string]any))
	}
	return out
}

// define sets the variables of a task for the host's later tasks. A task that was skipped
// or has failed sets nothing.
func (h *host) define(t *program.Task, res engine.Result) {
	if len(t.Sets) == 0 || res.Failure != nil || res.Status != engine.StatusOK && res.Status != engine.StatusChanged {
		return
	}
	values := output(res)
	h.lastSet = map[string]any{}
	for _, name := range t.Sets {
		if value, ok := values[name]; ok {
			h.lastSet[name] = value
			h.vars.Define(name, value)
		}
	}
}

func (h *host) registerResult(e *entry, res engine.Result) {
	out := view(res)
	if e.at == nil {
		h.register(e.task.Register, out)
		return
	}
	l := e.at.loop
	l.done++
	out[e.task.Loop.Var] = e.at.item
	l.results = append(l.results, out)
	for key, n := range map[string]*int{"changed": &l.changed, "failed": &l.failed, "skipped": &l.skipped} {
		if out[key] == true {
			*n++
		}
	}
	if l.done == l.total || l.failed > 0 {
		h.register(e.task.Register, map[string]any{"results": l.results, "changed": l.changed > 0,
			"failed": l.failed > 0, "skipped": l.skipped == l.total})
	}
}

// register makes a result visible to the host's later tasks and to actions.
func (h *host) register(name string, value map[string]any) {
	h.vars.Assign(name, value)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.registered[name] = value
}

func (h *host) registeredMap(name string) (map[string]any, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.registered[name]
	return v, ok
}

// skipItem records that a task is skipped.
func (h *host) skipItem(c *taskCall, at *iteration, reason string) {
	h.leaveOut(c, at, engine.Result{Reason: reason})
}

// skipUnknown omits a task from a check, because its effect is unknown.
func (h *host) skipUnknown(c *taskCall, at *iteration, why string) {
	h.leaveOut(c, at, engine.Result{Unknown: why})
	h.markTentative(c.task.Defines(), tentative{c.task.Name, true})
}

func (h *host) leaveOut(c *taskCall, at *iteration, res engine.Result) {
	e := &entry{op: c.op, task: c.task, at: at}
	res.Step, res.Name, res.Status, res.Started = stepID(c.id, at), c.task.Name, engine.StatusSkipped, time.Now()
	if name := c.task.Register; name != "" && h.seg.steps > 0 {
		// The task is skipped for certain, so tasks that read its result need not wait
		// for the segment; unless an earlier step, or another item of the loop,
		// registers that name too.
		if at == nil && len(c.onChange) == 0 && !h.seg.names[name] {
			h.register(name, view(res))
		} else {
			h.seg.willRegister(name)
		}
	}
	h.after(func() {
		if len(c.onChange) == 0 || h.notified[c.task] {
			h.record(e, res)
		}
	})
}

// failTask records that a task failed before it could start, after the entries before it.
func (h *host) failTask(ctx context.Context, c *taskCall, err error) error {
	return h.failItem(ctx, c, nil, err)
}

func (h *host) failItem(ctx context.Context, c *taskCall, at *iteration, err error) error {
	if ferr := h.flush(ctx); ferr != nil {
		return ferr
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !h.stillWanted(c) {
		return nil
	}
	e := &entry{op: c.op, task: c.task, at: at}
	return h.end(e, engine.Result{Step: stepID(c.id, at), Name: c.task.Name, Status: engine.StatusFailed,
		Failure: asFailure(err), Started: time.Now()})
}

// end records a result of the controller, and returns its failure unless it is ignored.
func (h *host) end(e *entry, res engine.Result) error {
	e.result = h.record(e, res)
	if e.succeeded() {
		return nil
	}
	return &hostFailure{failure: e.result.Failure, step: e.result.Name}
}

// asFailure converts an error: its first line is the message, the rest the detail.
func asFailure(err error) *engine.Failure {
	var f *engine.Failure
	if errors.As(err, &f) {
		return f
	}
	message, detail, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return &engine.Failure{Message: message, Detail: detail}
}
