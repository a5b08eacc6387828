package playbook

import (
	"maps"
	"slices"
)

// Refs are the names of variables that an expression or template may look at.
type Refs struct {
	names map[string]struct{}
	// all is set when they cannot be told, because the variables are used as
	// a whole.
	all bool
}

func (r *Refs) add(name string) {
	if r.names == nil {
		r.names = map[string]struct{}{}
	}
	r.names[name] = struct{}{}
}

func (r *Refs) merge(others ...Refs) {
	for _, o := range others {
		r.all = r.all || o.all
		for n := range o.names {
			r.add(n)
		}
	}
}

// Has tells whether the variable of that name may be looked at.
func (r Refs) Has(name string) bool {
	if r.all {
		return true
	}
	_, ok := r.names[name]
	return ok
}

// Everything are the references of code that may look at any variable.
func Everything() Refs { return Refs{all: true} }

// All tells that any variable may be looked at.
func (r Refs) All() bool { return r.all }

// Names are the names that are known to be looked at, sorted.
func (r Refs) Names() []string { return slices.Sorted(maps.Keys(r.names)) }
