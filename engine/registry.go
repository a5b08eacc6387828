package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Kind describes one kind of task under the name that playbooks use.
type Kind struct {
	Name string
	// Doc is one sentence for the reference.
	Doc string
	// Internal is true for kinds that only deployer's own roles, preparers and
	// actions use. Playbooks may name them; `deployer doc` lists them with --all.
	Internal bool
	// Example is a short list of tasks, as YAML, for the reference.
	Example string
	// New returns a pointer to a struct with the defaults filled in; it
	// implements exactly one of Module, Preparer and Action.
	New func() any
	// TimeLimit bounds one try of a task that names no timeout. DefaultTimeLimit
	// when 0, none when NoTimeLimit.
	TimeLimit time.Duration
	// Restorer puts back what modules keep under the name of this kind; nil
	// when there is no such thing.
	Restorer *Restorer
	// Deferred does what steps have left to the end of their segment; see
	// Postponer. Nothing harmful may come of doing it once too often.
	Deferred func(ctx context.Context, sys System) error
}

// Registry is the set of kinds that a playbook may use.
type Registry map[string]Kind

// NewRegistry builds a registry from tables of kinds. A name given twice, or a
// value that is not exactly one of Module, Preparer and Action, is an error of
// the programmer and panics.
func NewRegistry(tables ...[]Kind) Registry {
	r := Registry{}
	for _, table := range tables {
		for _, k := range table {
			if _, dup := r[k.Name]; dup {
				panic(fmt.Sprintf("engine: kind %q is registered twice", k.Name))
			}
			if kinds := implemented(k.New()); kinds != 1 {
				panic(fmt.Sprintf("engine: kind %q implements %d of Module, Preparer and Action, want exactly 1", k.Name, kinds))
			}
			r[k.Name] = k
		}
	}
	return r
}

func implemented(v any) int {
	n := 0
	if _, ok := v.(Module); ok {
		n++
	}
	if _, ok := v.(Preparer); ok {
		n++
	}
	if _, ok := v.(Action); ok {
		n++
	}
	return n
}

// Names returns the names of all kinds, sorted.
func (r Registry) Names() []string { return slices.Sorted(maps.Keys(r)) }

// Module returns a new host module of that name.
func (r Registry) Module(name string) (Module, error) {
	k, ok := r[name]
	if !ok {
		return nil, fmt.Errorf("this agent knows no module %q", name)
	}
	m, ok := k.New().(Module)
	if !ok {
		return nil, fmt.Errorf("%q does not run on hosts", name)
	}
	return m, nil
}
