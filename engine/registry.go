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
	// Restorer restores the states that modules back up under the name of this kind;
	// nil for kinds without such states.
	Restorer *Restorer
	// Deferred does the work that steps defer to the end of their segment; see
	// Deferrer. Deferred must be idempotent.
	Deferred func(ctx context.Context, sys System) error
}

// Registry is the set of kinds that a playbook may use.
type Registry map[string]Kind

// NewRegistry returns the registry of tables of kinds. NewRegistry panics when a name appears
// twice, or a value does not implement exactly one of Module, Preparer and Action.
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

// Module returns a new module by its name, with its defaults.
func (r Registry) Module(name string) (Module, error) {
	k, ok := r[name]
	if !ok {
		return nil, fmt.Errorf("this agent has no module %q", name)
	}
	m, ok := k.New().(Module)
	if !ok {
		return nil, fmt.Errorf("%q does not run on hosts", name)
	}
	return m, nil
}
