package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/strictyaml"
)

// Reserved are the names that the engine gives to every task; nothing else may
// take them.
func Reserved() []string {
	return []string{"cluster", "host", "hosts", "groups", "facts", "run", "item", "result", "failure"}
}

// Vars are the variables of one host, with the layers of the task that is being
// looked at on top. Not safe for concurrent use.
type Vars struct {
	values  map[string]any
	fixed   map[string]bool // names that no layer may hide
	defined map[string]bool // names that only parameters may hide; see Define
	// host are values of the host itself that are computed when they are looked at.
	hostVars map[string]*Value
	saved    []savedVar
}

type savedVar struct {
	name  string
	had   bool
	old   any
	fixed bool // as before
}

// NewVars makes variables from what a host begins with. fixed wins over
// everything that playbooks and roles set: the engine's own names, and those
// that the user gave on the command line. The maps are not changed. Those of base
// that are of HostValues are computed when they are looked at.
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

// Assign gives a variable a value from now on, as `register` does. It must not be
// called between Enter and its return.
func (v *Vars) Assign(name string, value any) {
	v.values[name] = value
	delete(v.hostVars, name)
}

// Define gives a variable a value from now on, as the task `set` does: over what
// plays, roles, blocks and tasks say, but not over parameters of roles and includes
// or what is fixed. It must not be called between Enter and its return.
func (v *Vars) Define(name string, value any) {
	if v.fixed[name] {
		return
	}
	v.Assign(name, value)
	v.defined[name] = true
}

// Explain has errors about a missing variable say what gives it a value.
func (v *Vars) Explain(definers map[string]strictyaml.Pos) {
	v.values[contextVar].(*runContext).definers = definers
}

// Get returns the value of a variable.
func (v *Vars) Get(name string) (any, bool) {
	value, ok := v.values[name]
	return value, ok
}

// Map is the live map for evaluating; only this package's types may be given
// it, and it must not be changed or kept.
func (v *Vars) Map() map[string]any { return v.values }

// Clone copies the variables for others to read.
func (v *Vars) Clone() map[string]any {
	out := maps.Clone(v.values)
	delete(out, contextVar)
	return out
}

// PushScope puts those variables of the scopes on top that refs may look at,
// rendering their templates. Leave takes them away again. Entering again adds
// to what is there.
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

// Set sets a variable until Leave.
func (v *Vars) Set(name string, value any) {
	old, had := v.values[name]
	v.saved = append(v.saved, savedVar{name, had, old, v.fixed[name]})
	v.values[name] = value
}

// SetFixed is Push for a variable that no layer may hide meanwhile.
func (v *Vars) SetFixed(name string, value any) {
	v.Set(name, value)
	v.fixed[name] = true
}

// Depth returns the point that Leave goes back to.
func (v *Vars) Depth() int { return len(v.saved) }

// PopTo undoes every Push and Enter since mark.
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

// scopeResolver resolves variables that may refer to each other.
type scopeResolver struct {
	vars   *Vars
	scopes []*Scope
	state  map[string]bool // false: being resolved; true: done
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

// find returns the value in force for name; nil when that of the host holds.
func (e *scopeResolver) find(name string) *Value {
	if e.vars.fixed[name] {
		return nil
	}
	for _, s := range slices.Backward(e.scopes) {
		if value := s.Vars[name]; s.Loop && value != nil {
			return value
		}
	}
	_, host := e.vars.values[name]
	host = host || e.vars.hostVars[name] != nil
	for _, s := range slices.Backward(e.scopes) {
		if s.Default && host || e.vars.defined[name] && !s.Param {
			continue
		}
		if value := s.Vars[name]; value != nil {
			return value
		}
	}
	return e.vars.hostVars[name]
}

func (e *scopeResolver) cycle(name string) error {
	path := append(slices.Clone(e.path[slices.Index(e.path, name):]), name)
	var pos strictyaml.Pos
	if value := e.find(name); value != nil {
		pos = value.Pos
	}
	return pos.Errorf("variables refer to each other in a circle: %s", strings.Join(path, " -> "))
}

// ItemVar is the variable with the item of a loop.
const ItemVar = "item"
