package playbook

import (
	"fmt"
	"maps"
	"slices"

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
	m     map[string]any
	fixed map[string]bool // names that no layer may hide
	set   map[string]bool // names that only parameters may hide; see Define
	// host are values of the host itself that are computed when they are looked at.
	host  map[string]*Value
	saved []savedVar
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
	v := &Vars{m: make(map[string]any, len(base)+len(fixed)+16), fixed: map[string]bool{}, set: map[string]bool{}}
	for name, value := range base {
		if later, ok := value.(*Value); ok {
			if v.host == nil {
				v.host = map[string]*Value{}
			}
			v.host[name] = later
			continue
		}
		v.m[name] = value
	}
	maps.Copy(v.m, fixed)
	for name := range fixed {
		v.fixed[name] = true
	}
	v.m[contextVar] = &runContext{}
	return v
}

// Set gives a variable a value from now on, as `register` does. It must not be
// called between Enter and its return.
func (v *Vars) Set(name string, value any) {
	v.m[name] = value
	delete(v.host, name)
}

// Define gives a variable a value from now on, as the task `set` does: over what
// plays, roles, blocks and tasks say, but not over parameters of roles and includes
// or what is fixed. It must not be called between Enter and its return.
func (v *Vars) Define(name string, value any) {
	if v.fixed[name] {
		return
	}
	v.Set(name, value)
	v.set[name] = true
}

// Explain has errors about a missing variable say what gives it a value.
func (v *Vars) Explain(definers map[string]strictyaml.Pos) {
	v.m[contextVar].(*runContext).definers = definers
}

// Get returns the value of a variable.
func (v *Vars) Get(name string) (any, bool) {
	value, ok := v.m[name]
	return value, ok
}

// Map is the live map for evaluating; only this package's types may be given
// it, and it must not be changed or kept.
func (v *Vars) Map() map[string]any { return v.m }

// Clone copies the variables for others to read.
func (v *Vars) Clone() map[string]any {
	out := maps.Clone(v.m)
	delete(out, contextVar)
	return out
}

// Enter puts those variables of the scopes on top that refs may look at,
// rendering their templates. Leave takes them away again. Entering again adds
// to what is there.
func (v *Vars) Enter(scopes []*Scope, refs Refs) error {
	if len(scopes) == 0 && len(v.host) == 0 {
		return nil
	}
	names := refs.Names()
	if refs.All() {
		names = slices.Sorted(maps.Keys(v.host))
		for _, s := range scopes {
			names = append(names, s.names...)
		}
	}
	e := &entering{vars: v, scopes: scopes, state: map[string]bool{}}
	for _, name := range names {
		if err := e.resolve(name); err != nil {
			return err
		}
	}
	return nil
}

// Push sets a variable until Leave.
func (v *Vars) Push(name string, value any) {
	old, had := v.m[name]
	v.saved = append(v.saved, savedVar{name, had, old, v.fixed[name]})
	v.m[name] = value
}

// hold is Push for a variable that no layer may hide meanwhile.
func (v *Vars) hold(name string, value any) {
	v.Push(name, value)
	v.fixed[name] = true
}

// Mark returns the point that Leave goes back to.
func (v *Vars) Mark() int { return len(v.saved) }

// Leave undoes every Push and Enter since mark.
func (v *Vars) Leave(mark int) {
	for len(v.saved) > mark {
		s := v.saved[len(v.saved)-1]
		v.saved = v.saved[:len(v.saved)-1]
		if s.had {
			v.m[s.name] = s.old
		} else {
			delete(v.m, s.name)
		}
		if !s.fixed {
			delete(v.fixed, s.name)
		}
	}
}

// entering resolves variables that may refer to each other.
type entering struct {
	vars   *Vars
	scopes []*Scope
	state  map[string]bool // false: being resolved; true: done
	path   []string
}

func (e *entering) resolve(name string) error {
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
	got, err := value.Eval(e.vars.m)
	if err != nil {
		return fmt.Errorf("variable %q: %w", name, err)
	}
	e.vars.Push(name, got)
	e.state[name] = true
	e.path = e.path[:len(e.path)-1]
	return nil
}

// find returns the value in force for name; nil when that of the host holds.
func (e *entering) find(name string) *Value {
	if e.vars.fixed[name] {
		return nil
	}
	for _, s := range slices.Backward(e.scopes) {
		if value := s.vars[name]; s.loop && value != nil {
			return value
		}
	}
	_, host := e.vars.m[name]
	host = host || e.vars.host[name] != nil
	for _, s := range slices.Backward(e.scopes) {
		if s.Default && host || e.vars.set[name] && !s.Param {
			continue
		}
		if value := s.vars[name]; value != nil {
			return value
		}
	}
	return e.vars.host[name]
}

func (e *entering) cycle(name string) error {
	path := append(slices.Clone(e.path[slices.Index(e.path, name):]), name)
	var pos strictyaml.Pos
	if value := e.find(name); value != nil {
		pos = value.Pos
	}
	return pos.Errorf("variables refer to each other in a circle: %s", joinArrow(path))
}
