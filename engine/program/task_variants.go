package program

import (
	"encoding/json"
	"fmt"

	"deployer/engine"
	"deployer/engine/lang"
)

// ReadOnly tells whether the task only looks; of one whose arguments are not known
// before the run, its kind decides.
func (t *Task) ReadOnly() bool { return t.readOnly }

// Gate returns a copy of the task that is its gate (engine.ReadinessGate); nil when it is
// none. The copy's conditions are those given.
func (t *Task) Gate(when []*lang.Expr) *Task {
	if !t.hasGate {
		return nil
	}
	g := t.WithConditions(when)
	g.gate, g.FixedArgs = true, nil
	return g
}

// WithConditions returns a copy of the task under other conditions.
func (t *Task) WithConditions(when []*lang.Expr) *Task {
	c := *t
	c.When = when
	c.CollectRefs()
	return &c
}

// Replacing returns a task that stands in the place of t, with its name and
// throttle, and carries out another module with arguments that are the same on
// all hosts.
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

// InspectArgs notes what can be known before the run of a task's arguments, which are
// the defaults where they have templates.
func (t *Task) InspectArgs(args any) {
	if l, ok := args.(engine.ReadOnlyTask); ok {
		t.readOnly = l.ReadOnly()
	}
	if g, ok := args.(engine.ReadinessGate); ok {
		t.hasGate = t.Args.Templated() || g.Gate() != nil
	}
}
