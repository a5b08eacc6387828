package lang

import (
	"iter"
	"maps"
	"slices"
)

// Refs are the names of variables that an expression or a template may read.
type Refs struct {
	// names has the variables that may be read; the value is false when only the
	// fields changed, failed and skipped of a registered result are read.
	names map[string]bool
	// tested are the names that may be missing somewhere.
	tested map[string]bool
	// all is true when any variable may be read, because the variables are used as a whole.
	all bool
}

// Add notes that the variable is read.
func (r *Refs) Add(name string) { r.note(name, true) }

// addField is Add for one field of the variable.
func (r *Refs) addField(name, field string) {
	r.note(name, field != "changed" && field != "failed" && field != "skipped")
}

func (r *Refs) note(name string, beyond bool) {
	if r.names == nil {
		r.names = map[string]bool{}
	}
	r.names[name] = r.names[name] || beyond
}

// test records that the variable may be missing.
func (r *Refs) test(name string) {
	if r.tested == nil {
		r.tested = map[string]bool{}
	}
	r.tested[name] = true
}

// Merge adds the variables of others.
func (r *Refs) Merge(others ...Refs) {
	for _, o := range others {
		r.all = r.all || o.all
		for n := range o.tested {
			r.test(n)
		}
		for n, beyond := range o.names {
			r.note(n, beyond)
		}
	}
}

// without returns the references but for one name, which is no variable of the host.
func (r Refs) without(name string) Refs {
	out := Refs{names: maps.Clone(r.names), tested: maps.Clone(r.tested), all: r.all}
	delete(out.names, name)
	delete(out.tested, name)
	return out
}

// Tested reports whether the variable is allowed to be missing somewhere.
func (r Refs) Tested(name string) bool { return r.tested[name] }

// TestedNames are the variables that are allowed to be missing somewhere.
func (r Refs) TestedNames() iter.Seq[string] { return maps.Keys(r.tested) }

// Has reports whether the variable may be read.
func (r Refs) Has(name string) bool {
	if r.all {
		return true
	}
	_, ok := r.names[name]
	return ok
}

// Beyond reports whether more of a registered result may be read than its fields changed,
// failed and skipped. Variables that are used as a whole do not count.
func (r Refs) Beyond(name string) bool { return r.names[name] }

// Everything returns the references of code that may read any variable.
func Everything() Refs { return Refs{all: true} }

// All reports whether any variable may be read.
func (r Refs) All() bool { return r.all }

// Names returns the names that are known, sorted. With All there may be more.
func (r Refs) Names() []string { return slices.Sorted(maps.Keys(r.names)) }
