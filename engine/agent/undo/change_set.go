package undo

import (
	"maps"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/sanitize"
)

// resourceChange is the change that one step, or a whole run, made to one resource,
// with the records of other steps for the same resource.
type resourceChange struct {
	resource
	steps   []string       // that made the change: one, or all of the run
	before  BackupRecord   // what the step found: the state to restore
	after   *BackupRecord  // what the step left; nil when the step was interrupted
	earlier []BackupRecord // records from earlier in the run
	later   []BackupRecord // records from later in the run
	// interrupted is true when the last step that changed the resource was
	// interrupted: changes by others and by the step cannot be distinguished then.
	interrupted bool
	secret      bool
	// dependent reports whether a key of the state belongs to another resource of
	// the run (see Restorer.Of); nil means that none does.
	dependent func(key string) bool
}

// changesByStep returns the changes of the steps of a run from the records of its
// backup log, in the order of the steps.
func changesByStep(lines []BackupRecord) []*resourceChange {
	var out []*resourceChange
	known := map[resource][]BackupRecord{}
	for _, l := range lines {
		t := l.resource()
		if !l.Left {
			out = append(out, &resourceChange{resource: t, steps: []string{l.Step}, before: l, secret: l.Secret, earlier: slices.Clip(known[t])})
		}
		known[t] = append(known[t], l)
	}
	for _, c := range out {
		all := known[c.resource]
		c.later = all[len(c.earlier)+1:]
		c.interrupted = !all[len(all)-1].Left
		if len(c.later) > 0 {
			c.after = &c.later[0]
		}
	}
	return out
}

// changesByRun merges the changes of all steps to each resource into one.
func changesByRun(changes []*resourceChange) []*resourceChange {
	var out []*resourceChange
	byThing := map[resource]*resourceChange{}
	for _, c := range changes {
		first := byThing[c.resource]
		if first == nil {
			first = &resourceChange{}
			*first = *c
			byThing[c.resource], out = first, append(out, first)
			if first.after = nil; !c.interrupted {
				first.after = &c.later[len(c.later)-1]
			}
			continue
		}
		first.steps, first.secret = append(slices.Clip(first.steps), c.steps...), first.secret || c.secret
	}
	return out
}

// isStepOfTask reports whether a step belongs to a task: its own step, one of a loop
// (#2), of a handler that ran again (@2), or a module that an action ran (.stat).
func isStepOfTask(step, task string) bool {
	rest, ok := strings.CutPrefix(step, task)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "#@."))
}

// target returns the state that a revert restores. Only keys that the step has
// changed are restored; keys that the step left alone, and another user has changed
// since, stay.
func (c *resourceChange) target(now engine.State) (to engine.State, state engine.RevertState) {
	was := c.before.State
	is := func(k BackupRecord) bool { return c.equalIgnoringDependent(now, k.State) }
	switch {
	case c.equalIgnoringDependent(now, was), slices.ContainsFunc(c.earlier, is):
		return now, engine.RevertUnchanged
	case c.after == nil:
		return was, engine.RevertRestore
	case c.equalIgnoringDependent(was, c.after.State):
		return now, engine.RevertUnchanged
	case len(was) == 0 || len(c.after.State) == 0 || len(now) == 0:
		if c.interrupted || slices.ContainsFunc(c.later, is) {
			return was, engine.RevertRestore
		}
		return was, engine.RevertDrifted
	}
	return c.mergedTarget(now)
}

// mergedTarget returns the present state with the step's keys restored.
func (c *resourceChange) mergedTarget(now engine.State) (to engine.State, state engine.RevertState) {
	to = maps.Clone(now)
	for _, key := range keysOf(c.before.State, c.after.State) {
		is := func(k BackupRecord) bool { return k.State[key] == now[key] }
		switch {
		case c.dependent != nil && c.dependent(key):
		case c.before.State[key] == c.after.State[key], is(c.before), slices.ContainsFunc(c.earlier, is):
		case c.interrupted, slices.ContainsFunc(c.later, is):
			to[key] = c.before.State[key]
		default:
			return c.before.State, engine.RevertDrifted
		}
	}
	if equalStates(to, now) {
		return now, engine.RevertUnchanged
	}
	return to, engine.RevertRestore
}

// equalStates reports whether two states are equal. A secret that only one of them
// has was removed from the backup, and is no difference.
func equalStates(a, b engine.State) bool {
	if maps.Equal(a, b) {
		return true
	}
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(keysOf(a, b), func(key string) bool { return differs(a, b, key) })
}

func differs(a, b engine.State, key string) bool {
	one, inA := a[key]
	other, inB := b[key]
	if strings.HasPrefix(key, engine.SecretKey) && inA != inB {
		return false
	}
	return inA != inB || one != other
}

// equalIgnoringDependent is equalStates without the keys that belong to other
// resources.
func (c *resourceChange) equalIgnoringDependent(a, b engine.State) bool {
	if len(a) == 0 || len(b) == 0 || c.dependent == nil {
		return equalStates(a, b)
	}
	return !slices.ContainsFunc(keysOf(a, b), func(key string) bool { return !c.dependent(key) && differs(a, b, key) })
}

func keysOf(states ...engine.State) []string {
	all := map[string]bool{}
	for _, s := range states {
		for k := range s {
			all[k] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// describeStateChange returns the action that a plan shows for restoring a state.
func describeStateChange(now, to engine.State) string {
	switch {
	case len(to) == 0:
		return "remove: it was not there before"
	case len(now) == 0:
		return "bring back"
	}
	var out []string
	for _, key := range keysOf(now, to) {
		switch {
		case now[key] == to[key]:
		case strings.HasPrefix(key, engine.SecretKey):
			out = append(out, strings.TrimPrefix(key, engine.SecretKey))
		default:
			out = append(out, key+" "+displayValue(now[key])+" -> "+displayValue(to[key]))
		}
	}
	return "restore " + strings.Join(out, ", ")
}

func displayValue(value string) string {
	if value == "" {
		return "none"
	}
	return sanitize.CutEnd(value, 100)
}
