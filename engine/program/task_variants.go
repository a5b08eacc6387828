package program

import (
	"encoding/json"
	"fmt"

	"deployer/engine"
	"deployer/engine/lang"
)

// ReadOnly reports whether the task only reads. When its arguments are not known before the
// run, the defaults of its kind decide.
func (t *Task) ReadOnly() bool { return t.readOnly }

// Gate returns a copy of the task that only waits until its readiness gate holds
// (engine.ReadinessGate), under the given conditions; nil when the task has no gate.
func (t *Task) Gate(when []*lang.Expr) *Task {
	if !t.hasGate {
		return nil
	}
	g := t.WithConditions(when)
	g.gate, g.FixedArgs = true, nil
	return g
}

// WithConditions returns a copy of the task with other conditions.
func (t *Task) WithConditions(when []*lang.Expr) *Task {
	c := *t
	c.When = when
	c.CollectRefs()
	return &c
}

// Replacing returns a task in the place of t, with its name, scopes and throttle, that
// executes another module with arguments that are the same on all hosts. Replacing fails when args
// cannot be written as JSON.
func (t *Task) Replacing(id, module string, args any) (*Task, error) {
	fixed, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", module, err)
	}
	other := &Task{ID: id, Name: t.Name, NameText: t.NameText, Role: t.Role, Pos: t.Pos, Kind: engine.Kind{Name: module},
		Throttle: t.Throttle, Scopes: t.Scopes, Tags: t.Tags, Secret: t.Secret, FixedArgs: fixed, replaces: true}
	other.CollectRefs()
	return other, nil
}

// InspectArgs records what is known from the arguments before the run: whether the task only reads,
// and whether it has a gate. For arguments with {{ }}, args holds the defaults of the kind.
func (t *Task) InspectArgs(args any) {
	if l, ok := args.(engine.ReadOnlyTask); ok {
		t.readOnly = l.ReadOnly()
	}
	if g, ok := args.(engine.ReadinessGate); ok {
		t.hasGate = t.Args.Templated() || g.Gate() != nil
	}
}
