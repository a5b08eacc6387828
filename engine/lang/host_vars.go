package lang

import (
	"errors"
	"maps"
	"slices"
)

// ResolveHostVars computes the variables with {{ }} that each host may read of the others
// (hosts.NAME.vars), from what the host has before the run. Variables that need facts,
// results of tasks or variables of plays are left out. With others it includes variables
// that read other hosts; the variables of those hosts must be resolved by then. To read one
// that depends on a lookup of UnknownLookups is [ErrLookupUnknown].
func ResolveHostVars(base, fixed map[string]any, others bool) map[string]any {
	v := NewVars(base, fixed)
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(v.hostVars)) {
		refs := v.reach(name)
		if refs.all || refs.Has("hosts") && !others || slices.ContainsFunc([]string{"facts", "run", "result", "failure", ItemVar}, refs.Has) {
			continue
		}
		mark := v.Depth()
		switch err := v.PushScope(nil, Refs{names: map[string]bool{name: true}}); {
		case err == nil:
			out[name] = v.values[name]
		case errors.Is(err, ErrLookupUnknown):
			out[name] = unknownVar{}
		}
		v.PopTo(mark)
	}
	return out
}

// IsDeferred reports whether a variable of a host is evaluated when a task reads it.
func IsDeferred(value any) bool {
	_, later := value.(*Value)
	return later
}

// reach returns the variables that one of the host's reads in turn.
func (v *Vars) reach(name string) Refs {
	var out Refs
	out.Add(name)
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		value := v.hostVars[todo[0]]
		if value == nil || v.fixed[todo[0]] {
			continue
		}
		out.all = out.all || value.refs.all
		for _, next := range value.refs.Names() {
			if _, known := out.names[next]; !known {
				out.Add(next)
				todo = append(todo, next)
			}
		}
	}
	return out
}

// hostVarsAdvice is the advice for a name that the variables of another host lack.
const hostVarsAdvice = "; hosts.NAME.vars has what the inventory says of a host, as far as it can be computed without facts and plays; " +
	"what a task sets is known to its own host, with run_once to all; a task with delegate_to asks another host"
