package lang

import (
	"maps"
	"slices"
)

// ResolveHostVars computes those of a host's variables that have templates, for other hosts:
// with what the host has before the run. Left out are those that need more than
// that: facts, what tasks register or set, variables of plays. With others it
// computes those too that look at other hosts, who must have been told of by then.
func ResolveHostVars(base, fixed map[string]any, others bool) map[string]any {
	v := NewVars(base, fixed)
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(v.hostVars)) {
		refs := v.reach(name)
		if refs.all || refs.Has("hosts") && !others || slices.ContainsFunc([]string{"facts", "run", "result", "failure", ItemVar}, refs.Has) {
			continue
		}
		mark := v.Depth()
		if v.PushScope(nil, Refs{names: map[string]bool{name: true}}) == nil {
			out[name] = v.values[name]
		}
		v.PopTo(mark)
	}
	return out
}

// IsDeferred reports whether a variable of a host is computed when it is looked at.
func IsDeferred(value any) bool {
	_, later := value.(*Value)
	return later
}

// reach are the variables that one of the host's looks at, in turn.
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

// hostVarsAdvice is the advice for a name that is looked for among the variables of another
// host, where they do not have it.
const hostVarsAdvice = "; hosts.NAME.vars has what the inventory says of a host, as far as it can be computed without facts and plays; " +
	"what a task sets is known to its own host, with run_once to all; a task with delegate_to asks another host"
