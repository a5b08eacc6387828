package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/engine/session"
)

// evaluate decides the status of a step whose task has changed_when, failed_when or until,
// and runs the step again as until requires.
func (h *host) evaluate(ctx context.Context, on session.Session, e *entry) engine.Result {
	res := *e.result
	for try := 1; ; try++ {
		again := h.evaluateResult(e.task, e, &res)
		if e.task.Until != nil {
			res.Tries = try
		}
		if !again || h.preview != nil || e.task.Until == nil || try > e.task.Retries || h.stop().Err() != nil {
			return res
		}
		h.run.emit(engine.Event{Type: engine.EventStepText, Host: h.name, Step: e.step.ID, Name: e.step.Name,
			Text: fmt.Sprintf("try %d of %d did not meet until; trying again in %s", try, e.task.Retries+1, e.task.Delay)})
		if err := h.sleep(ctx, e.task.Delay); err != nil {
			return res
		}
		next, err := h.runStep(ctx, on, *e.step)
		if err != nil {
			return res // the connection is lost: the last result counts
		}
		res = next
	}
}

// runStep runs one step as a segment.
func (h *host) runStep(ctx context.Context, on session.Session, step engine.Step) (engine.Result, error) {
	step.OnChange = nil
	var res engine.Result
	got := false
	err := on.Run(ctx, h.segment(step), func(r engine.Result) { res, got = r, true })
	if err == nil && !got {
		err = errTruncated
	}
	return res, err
}

// evaluateResult applies the task's conditions to a result. again is true when the step
// failed, or until is not met.
func (h *host) evaluateResult(t *program.Task, e *entry, res *engine.Result) (again bool) {
	if !t.NeedsEvaluation() || res.Status == engine.StatusSkipped {
		return res.Failure != nil
	}
	if h.checking() && res.Change != nil && len(res.Change.Pending()) > 0 {
		h.evaluateUnexecuted(t, e, res)
		return false
	}
	fail := func(err error) { res.Status, res.Failure = engine.StatusFailed, asFailure(err) }
	seen := view(*res)
	if t.FailedWhen != nil {
		failed, why, err := h.holds(t, t.FailedWhen, e, seen)
		switch {
		case err != nil && res.Failure != nil: // the failure left nothing to evaluate
		case err != nil:
			fail(err)
		case failed:
			detail := ""
			if res.Failure != nil {
				detail = strings.TrimSpace(res.Failure.Message + "\n" + res.Failure.Detail)
			}
			res.Status, res.Failure = engine.StatusFailed, &engine.Failure{Message: "failed_when holds: " + why, Detail: detail}
		case res.Failure != nil:
			res.Status, res.Failure = forgivenStatus(res), nil
		}
	}
	if t.ChangedWhen != nil && res.Failure == nil {
		changed, _, err := h.holds(t, t.ChangedWhen, e, view(*res))
		switch {
		case err != nil:
			fail(err)
		case changed:
			res.Status = engine.StatusChanged
		default:
			res.Status = engine.StatusOK
		}
	}
	if t.Until == nil {
		return res.Failure != nil
	}
	done, _, err := h.holds(t, t.Until, e, view(*res))
	switch {
	case err != nil && res.Failure == nil:
		fail(err)
	case err == nil && !done && res.Failure == nil:
		fail(fmt.Errorf("until does not hold: %s", lang.Sources(t.Until)))
		return true
	case err == nil && done:
		return false
	}
	return true
}

// forgivenStatus returns the status of a step whose failure counts as success. A program that
// ran and ended with an error may have changed anything, so it counts as changed, as in
// Ansible. The failure of any other module is one of not having made its change.
func forgivenStatus(res *engine.Result) engine.Status {
	if res.Change != nil && res.Output["ran"] == true && slices.ContainsFunc(res.Change.Pending(), func(e engine.Effect) bool { return e.Kind == engine.EffectCommand }) {
		return engine.StatusChanged
	}
	return engine.StatusOK
}

// holds evaluates conditions on a result, which they read under the task's registered name
// and as result. The error of a secret task has no value of the result, as an expression
// quotes what it cannot convert.
func (h *host) holds(t *program.Task, conditions []*lang.Expr, e *entry, seen map[string]any) (bool, string, error) {
	defer h.vars.PopTo(h.vars.Depth())
	h.vars.Set("result", seen)
	if t.Register != "" {
		h.vars.Set(t.Register, seen)
	}
	e.at.push(t, h.vars)
	ok, err := t.Holds(conditions, h.vars)
	if err != nil && t.Secret {
		err = fmt.Errorf("evaluating %s: the expression failed; the task is secret, so the reason is withheld", lang.Sources(conditions))
	}
	return ok, lang.Sources(conditions), err
}
