package lang

import (
	"slices"
)

// Closure returns the variables of parts and those that the variables of the scopes read in
// turn.
func Closure(scopes []*Scope, parts ...Refs) Refs {
	var out Refs
	out.Merge(parts...)
	todo := out.Names()
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		for _, s := range scopes {
			value := s.Vars[name]
			if value == nil {
				continue
			}
			out.all = out.all || value.refs.all
			for n := range value.refs.tested {
				out.test(n)
			}
			for _, r := range value.refs.Names() {
				if _, known := out.names[r]; !known {
					out.Add(r)
					todo = append(todo, r)
				}
			}
		}
	}
	return out
}

// HiddenByScopes reports whether a layer has a variable that wins over the inventory's.
func HiddenByScopes(scopes []*Scope, name string) bool {
	return slices.ContainsFunc(scopes, func(s *Scope) bool { return !s.Default && s.Vars[name] != nil })
}

// Scope is one layer of variables: of a play, a role, a block or a task.
type Scope struct {
	// Default marks the defaults of a role, over which the inventory wins. All other layers
	// win over the inventory, and inner ones over outer ones.
	Default bool
	// Param marks the parameters of a role or an include, which win over variables that
	// tasks set.
	Param bool
	// Loop marks the item of a loop at an include, which no other layer hides.
	Loop  bool
	Vars  map[string]*Value
	Names []string
}
