package agent

import (
	"maps"
	"slices"
	"strings"

	"deployer/engine"
)

// changed is what one step did to one thing, with what else the run did to it.
type changed struct {
	thing
	steps  []string // the one that kept it; for a whole run all that did
	was    Kept     // what the step found, and what it becomes again
	left   *Kept    // what the step left; nil when it was cut short
	before []Kept   // what the thing was earlier in the run
	after  []Kept   // what it was later in the run
	// cut is true when the last step that changed the thing was cut short, so
	// that nobody can tell whether it was changed by others since.
	cut    bool
	secret bool
	// follows tells keys of the state that go with other things of the run (see
	// Restorer.Of); nil means none.
	follows func(key string) bool
}

// changesOf tells what steps did, from the lines of a run, the first step first.
func changesOf(lines []Kept) []*changed {
	var out []*changed
	known := map[thing][]Kept{}
	for _, l := range lines {
		t := l.thing()
		if !l.Left {
			out = append(out, &changed{thing: t, steps: []string{l.Step}, was: l, secret: l.Secret, before: slices.Clip(known[t])})
		}
		known[t] = append(known[t], l)
	}
	for _, c := range out {
		all := known[c.thing]
		c.after = all[len(c.before)+1:]
		c.cut = !all[len(all)-1].Left
		if len(c.after) > 0 {
			c.left = &c.after[0]
		}
	}
	return out
}

// wholeOf tells what a run did to each thing from its first step to its last.
func wholeOf(changes []*changed) []*changed {
	var out []*changed
	byThing := map[thing]*changed{}
	for _, c := range changes {
		first := byThing[c.thing]
		if first == nil {
			first = &changed{}
			*first = *c
			byThing[c.thing], out = first, append(out, first)
			if first.left = nil; !c.cut {
				first.left = &c.after[len(c.after)-1]
			}
			continue
		}
		first.steps, first.secret = append(slices.Clip(first.steps), c.steps...), first.secret || c.secret
	}
	return out
}

// ofTask tells whether a step is one of a task: its own, one of a loop (#2), of
// a handler that ran again (@2), or a module that an action ran (.stat).
func ofTask(step, task string) bool {
	rest, ok := strings.CutPrefix(step, task)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "#@."))
}

// restored is what a state must become. Only what the step has changed goes
// back; what it left alone, and somebody has changed since, stays.
func (c *changed) restored(now engine.State) (to engine.State, fate engine.Fate) {
	was := c.was.State
	is := func(k Kept) bool { return c.alike(now, k.State) }
	switch {
	case c.alike(now, was), slices.ContainsFunc(c.before, is):
		return now, engine.Settled
	case c.left == nil:
		return was, engine.PutBack
	case c.alike(was, c.left.State):
		return now, engine.Settled
	case len(was) == 0 || len(c.left.State) == 0 || len(now) == 0:
		if c.cut || slices.ContainsFunc(c.after, is) {
			return was, engine.PutBack
		}
		return was, engine.Drifted
	}
	return c.merged(now)
}

// merged puts back the keys that the step has changed.
func (c *changed) merged(now engine.State) (to engine.State, fate engine.Fate) {
	to = maps.Clone(now)
	for _, key := range keysOf(c.was.State, c.left.State) {
		is := func(k Kept) bool { return k.State[key] == now[key] }
		switch {
		case c.follows != nil && c.follows(key):
		case c.was.State[key] == c.left.State[key], is(c.was), slices.ContainsFunc(c.before, is):
		case c.cut, slices.ContainsFunc(c.after, is):
			to[key] = c.was.State[key]
		default:
			return c.was.State, engine.Drifted
		}
	}
	if same(to, now) {
		return now, engine.Settled
	}
	return to, engine.PutBack
}

// same is true for equal states. A secret that one of them does not have was
// removed from what is kept, and is no difference.
func same(a, b engine.State) bool {
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

// alike is same, but for keys that go with other things.
func (c *changed) alike(a, b engine.State) bool {
	if len(a) == 0 || len(b) == 0 || c.follows == nil {
		return same(a, b)
	}
	return !slices.ContainsFunc(keysOf(a, b), func(key string) bool { return !c.follows(key) && differs(a, b, key) })
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

// words say how one state becomes another, for a plan.
func words(now, to engine.State) string {
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
			out = append(out, key+" "+shown(now[key])+" -> "+shown(to[key]))
		}
	}
	return "put back " + strings.Join(out, ", ")
}

func shown(value string) string {
	if value == "" {
		return "none"
	}
	return cutEnd(value, 100)
}
