package program

import (
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/lang"
)

// Applies evaluates the conditions of the task; reason is the first condition that does not
// hold.
func (t *Task) Applies(vars *lang.Vars) (ok bool, reason string, err error) {
	return lang.ConditionsHold(t.When, t.Scopes, vars)
}

// WhenPerItem reports whether a condition reads the item of the loop, so that the
// conditions are evaluated for each item.
func (t *Task) WhenPerItem() bool {
	return t.Loop != nil && slices.ContainsFunc(t.When, func(e *lang.Expr) bool { return t.Loop.PerItem(e.Refs()) })
}

// Items returns the items of the task's loop. The task must have a loop.
func (t *Task) Items(vars *lang.Vars) ([]any, error) {
	defer vars.PopTo(vars.Depth())
	if err := vars.PushScope(t.Scopes, t.Loop.Refs); err != nil {
		return nil, err
	}
	return t.Loop.Items(vars.Map())
}

// BuildArgs renders the arguments and decodes them into a new value of the task's kind. The
// result is nil for a gate that has nothing to wait for. The caller has pushed the task's
// scopes and set the item.
func (t *Task) BuildArgs(vars *lang.Vars) (any, error) {
	into := t.Kind.New()
	if err := t.Args.Decode(vars.Map(), into); err != nil {
		return nil, err
	}
	if err := engine.Validate(into); err != nil {
		return nil, err
	}
	if t.gate {
		return into.(engine.ReadinessGate).Gate(), nil
	}
	return into, nil
}

// Title returns the rendered name of the task, in a loop with the label of the item. A task
// that replaces another one has the name as written when the name cannot be rendered.
func (t *Task) Title(vars *lang.Vars) (title string, err error) {
	title = t.Name
	if t.NameText != nil {
		title, err = t.NameText.Text(vars.Map())
	}
	switch {
	case err != nil && t.replaces:
		return t.Prefix + t.Name, nil
	case err != nil:
		return "", err
	}
	labels := t.LoopLabels
	if t.Loop != nil && t.Loop.Label != nil {
		labels = append(slices.Clip(labels), t.Loop.Label)
	}
	for _, l := range labels {
		label, err := l.Value(vars)
		if err != nil {
			return "", err
		}
		title += " (" + label + ")"
	}
	return t.Prefix + title, nil
}

// MayHaveTitle reports whether Title may have returned title for some host. Any title is
// possible for a name with {{ }}.
func (t *Task) MayHaveTitle(title string) bool {
	rest, same := strings.CutPrefix(title, t.Name)
	labelled := len(t.LoopLabels) > 0 || t.Loop != nil && t.Loop.Label != nil
	return lang.IsTemplate(t.Name) || same && (rest == "" || labelled && strings.HasPrefix(rest, " ("))
}

// Holds evaluates conditions on the result of the task, which the caller has put into vars.
func (t *Task) Holds(conditions []*lang.Expr, vars *lang.Vars) (bool, error) {
	if err := vars.PushScope(t.Scopes, t.afterRefs); err != nil {
		return false, err
	}
	ok, _, err := lang.FirstFalse(conditions, vars.Map())
	return ok, err
}
