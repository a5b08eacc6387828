package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/strictyaml"
)

// Reserved returns the names that the engine gives to every task. Playbooks and inventories
// cannot define them.
func Reserved() []string {
	return []string{"cluster", "host", "hosts", "groups", "facts", "run", "item", "result", "failure"}
}

// Vars are the variables of one host, with the scopes of the current task on top.
// Vars are not safe for concurrent use.
type Vars struct {
	values  map[string]any
	fixed   map[string]bool // names that no scope hides
	defined map[string]bool // names that only parameters hide; see Define
	// hostVars are variables of the inventory that are evaluated when a task reads them.
	hostVars map[string]*Value
	saved    []savedVar
}

type savedVar struct {
	name  string
	had   bool
	old   any
	fixed bool // as it was before
}

// NewVars returns variables that begin with base. fixed wins over everything that playbooks
// and roles set: it holds the engine's own names, and the variables of the command line.
// The maps are not changed. Values of base that HostVarCompiler has made are evaluated when
// a task reads them.
func NewVars(base, fixed map[string]any) *Vars {
	v := &Vars{values: make(map[string]any, len(base)+len(fixed)+16), fixed: map[string]bool{}, defined: map[string]bool{}}
	for name, value := range base {
		if later, ok := value.(*Value); ok {
			if v.hostVars == nil {
				v.hostVars = map[string]*Value{}
			}
			v.hostVars[name] = later
			continue
		}
		v.values[name] = value
	}
	maps.Copy(v.values, fixed)
	for name := range fixed {
		v.fixed[name] = true
	}
	v.values[contextVar] = &runContext{}
	return v
}

// Assign gives a variable a value from now on, as `register` does. Assign must not be called
// between PushScope and PopTo.
func (v *Vars) Assign(name string, value any) {
	v.values[name] = value
	delete(v.hostVars, name)
}

// Define gives a variable a value from now on, as the task `set` does: over the variables
// of plays, roles, blocks and tasks, but not over parameters of roles and includes or fixed
// names. Define must not be called between PushScope and PopTo.
func (v *Vars) Define(name string, value any) {
	if v.fixed[name] {
		return
	}
	v.Assign(name, value)
	v.defined[name] = true
}

// Explain makes errors about a missing variable name the task that gives it a value.
func (v *Vars) Explain(definers map[string]strictyaml.Pos) {
	v.values[contextVar].(*runContext).definers = definers
}

// Get returns the value of a variable.
func (v *Vars) Get(name string) (any, bool) {
	value, ok := v.values[name]
	return value, ok
}

// Map returns the live map for evaluating. Only Eval, Text and Value of this package may
// receive it; it must not be changed or kept.
func (v *Vars) Map() map[string]any { return v.values }

// Clone returns a copy of the variables.
func (v *Vars) Clone() map[string]any {
	out := maps.Clone(v.values)
	delete(out, contextVar)
	return out
}

// PushScope evaluates the variables of the scopes that refs may read and puts them on top,
// until PopTo. A second call adds to the first.
func (v *Vars) PushScope(scopes []*Scope, refs Refs) error {
	if len(scopes) == 0 && len(v.hostVars) == 0 {
		return nil
	}
	names := refs.Names()
	if refs.All() {
		names = slices.Sorted(maps.Keys(v.hostVars))
		for _, s := range scopes {
			names = append(names, s.Names...)
		}
	}
	e := &scopeResolver{vars: v, scopes: scopes, state: map[string]bool{}}
	for _, name := range names {
		if err := e.resolve(name); err != nil {
			return err
		}
	}
	return nil
}

// Set sets a variable until PopTo.
func (v *Vars) Set(name string, value any) {
	old, had := v.values[name]
	v.saved = append(v.saved, savedVar{name, had, old, v.fixed[name]})
	v.values[name] = value
}

// SetFixed is Set for a variable that no scope hides meanwhile.
func (v *Vars) SetFixed(name string, value any) {
	v.Set(name, value)
	v.fixed[name] = true
}

// Depth returns the number of saved variables, for PopTo.
func (v *Vars) Depth() int { return len(v.saved) }

// PopTo undoes every Set and PushScope since Depth returned depth.
func (v *Vars) PopTo(mark int) {
	for len(v.saved) > mark {
		s := v.saved[len(v.saved)-1]
		v.saved = v.saved[:len(v.saved)-1]
		if s.had {
			v.values[s.name] = s.old
		} else {
			delete(v.values, s.name)
		}
		if !s.fixed {
			delete(v.fixed, s.name)
		}
	}
}

// scopeResolver evaluates variables that may read each other.
type scopeResolver struct {
	vars   *Vars
	scopes []*Scope
	state  map[string]bool // false: in progress; true: done
	path   []string
}

func (e *scopeResolver) resolve(name string) error {
	if done, seen := e.state[name]; seen {
		if !done {
			return e.cycle(name)
		}
		return nil
	}
	value := e.find(name)
	if value == nil {
		return nil
	}
	e.state[name] = false
	e.path = append(e.path, name)
	for _, ref := range value.refs.Names() {
		if err := e.resolve(ref); err != nil {
			return err
		}
	}
	got, err := value.Eval(e.vars.values)
	if err != nil {
		return fmt.Errorf("variable %q: %w", name, err)
	}
	e.vars.Set(name, got)
	e.state[name] = true
	e.path = e.path[:len(e.path)-1]
	return nil
}

// find returns the value of the scopes that is in force for name; nil when the host's
// own value is in force.
func (e *scopeResolver) find(name string) *Value {
	if e.vars.fixed[name] {
		return nil
	}
	if value := ValueOverInventory(e.scopes, name, e.vars.defined[name]); value != nil {
		return value
	}
	if _, host := e.vars.values[name]; host {
		return nil
	}
	if value := e.vars.hostVars[name]; value != nil {
		return value
	}
	return DefaultValue(e.scopes, name)
}

func (e *scopeResolver) cycle(name string) error {
	path := append(slices.Clone(e.path[slices.Index(e.path, name):]), name)
	var pos strictyaml.Pos
	if value := e.find(name); value != nil {
		pos = value.Pos
	}
	return pos.Errorf("variables refer to each other in a circle: %s", strings.Join(path, " -> "))
}

// ItemVar is the variable that holds the item of a loop.
const ItemVar = "item"
