package playbook

import (
	"encoding/json"
	"fmt"
	"strconv"

	"deployer/engine"
)

// ReadOnly tells whether the task only looks; of one whose arguments are not known
// before the run, its kind decides.
func (t *Task) ReadOnly() bool { return t.readOnly }

// Gate returns a copy of the task that is its gate (engine.ReadinessGate); nil when it is
// none. The copy's conditions are those given.
func (t *Task) Gate(when []*Expr) *Task {
	if !t.hasGate {
		return nil
	}
	g := t.WithConditions(when)
	g.gate, g.fixed = true, nil
	return g
}

// WithConditions returns a copy of the task under other conditions.
func (t *Task) WithConditions(when []*Expr) *Task {
	c := *t
	c.When = when
	c.collectRefs()
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
	other := &Task{ID: id, Name: t.Name, nameText: t.nameText, Role: t.Role, Pos: t.Pos, Kind: engine.Kind{Name: module},
		Throttle: t.Throttle, Scopes: t.Scopes, Tags: t.Tags, Secret: t.Secret, fixed: fixed, replaces: true}
	other.collectRefs()
	return other, nil
}

// Number is the expression that is always n.
func Number(n int) *Expr {
	e, err := compileExpr(strconv.Itoa(n), origin{})
	if err != nil {
		panic(err) // a number is an expression
	}
	return e
}

// WithFallback returns the same expression as a throttle that is n where it cannot be
// computed, because it looks at something that nothing has registered.
func (e *Expr) WithFallback(n int) *Expr {
	c := *e
	c.fallback = &n
	return &c
}

// inspectArgs notes what can be known before the run of a task's arguments, which are
// the defaults where they have templates.
func (t *Task) inspectArgs(args any) {
	if l, ok := args.(engine.ReadOnlyTask); ok {
		t.readOnly = l.ReadOnly()
	}
	if g, ok := args.(engine.ReadinessGate); ok {
		t.hasGate = t.Args.Templated() || g.Gate() != nil
	}
}
