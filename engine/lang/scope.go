package lang

import (
	"slices"
)

// Closure adds what the variables of the scopes refer to in turn.
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

// HiddenByScopes reports whether the layers have a variable that wins over the inventory's.
func HiddenByScopes(scopes []*Scope, name string) bool {
	return slices.ContainsFunc(scopes, func(s *Scope) bool { return !s.Default && s.Vars[name] != nil })
}

// Scope is one layer of variables: of a play, a role, a block or a task.
type Scope struct {
	// Default marks a role's defaults, which the inventory wins over. All
	// other layers win over the inventory, inner ones over outer ones.
	Default bool
	// Param marks the parameters of a role or include, which win over what tasks
	// set.
	Param bool
	// loop marks the item of a loop at an include, which no other layer hides.
	Loop  bool
	Vars  map[string]*Value
	Names []string
}
