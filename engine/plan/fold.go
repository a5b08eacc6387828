package plan

import (
	"fmt"
	"slices"
	"strings"

	"deployer/engine"
)

// Group is hosts on which the same would happen.
type Group struct {
	Hosts []string // in inventory order
	// Changes are indexes into Plan.Changes: those of the first host.
	Changes []int
	// Own are those of Changes that other hosts make with contents of their own,
	// or with their own name in the words.
	Own map[int]bool
}

// Fold groups the hosts that have changes, those that most hosts share first.
// Hosts with nothing to do are in no group. Contents that have the name or the
// address of their host in them are different on a thousand hosts, and there is
// still one thing to read: such hosts are one group, unless apart is true.
func (p *Plan) Fold(apart bool) []Group {
	at := map[string]int{}
	var out []Group
	for _, h := range p.Hosts {
		if len(h.Changes) == 0 {
			continue
		}
		key := fmt.Sprint(h.Changes)
		if !apart {
			key = p.outline(h)
		}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, Group{Changes: h.Changes, Own: map[int]bool{}})
		}
		out[i].Hosts = append(out[i].Hosts, h.Name)
		for k, change := range out[i].Changes {
			if h.Changes[k] != change {
				out[i].Own[change] = true
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Group) int { return len(b.Hosts) - len(a.Hosts) })
	return out
}

// outline is what happens on a host but for contents and its name.
func (p *Plan) outline(h Host) string {
	var b strings.Builder
	for _, at := range h.Changes {
		c := p.Changes[at]
		fmt.Fprintf(&b, "%q %q %q %d", c.Step, c.Name, c.Unknown, c.MaxParallel)
		for _, e := range c.Effects {
			fmt.Fprintf(&b, " %q %q %q %t", e.Kind, e.Target, e.Action, e.Secret)
		}
		b.WriteByte('\n')
	}
	return strings.ReplaceAll(b.String(), h.Name, "\x00")
}

// Count says in a few words what changes do: "3 files, 1 restart".
func (p *Plan) Count(changes []int) string {
	tally := map[engine.EffectKind]int{}
	unknown := 0
	for _, at := range changes {
		if p.Changes[at].Unknown != "" {
			unknown++
		}
		for _, e := range p.Changes[at].Effects {
			tally[e.Kind]++
		}
	}
	var parts []string
	add := func(n int, what string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+what)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, what))
		}
	}
	for _, k := range kinds {
		add(tally[k.kind], k.word)
		delete(tally, k.kind)
	}
	rest := 0
	for _, n := range tally {
		rest += n
	}
	add(rest, "other change")
	add(unknown, "unknown step")
	return strings.Join(parts, ", ")
}

// kinds are the effects in the order of a summary.
var kinds = []struct {
	kind engine.EffectKind
	word string
}{
	{engine.EffectFile, "file"}, {engine.EffectPackage, "package"}, {engine.EffectImage, "image"},
	{engine.EffectKernel, "kernel setting"}, {engine.EffectUnit, "unit action"}, {engine.EffectRestart, "restart"}, {engine.EffectReboot, "reboot"},
	{engine.EffectDrain, "drain"},
	{engine.EffectCommand, "command"}, {engine.EffectMember, "etcd member"}, {engine.EffectObject, "object"},
}

// Turn is changes that hosts make a few at a time.
type Turn struct {
	Steps       []string // their names
	MaxParallel int      // hosts at most
	Turns       int      // how often so many go, for all to be done
}

// Turns are the changes that not all hosts make at once, those that are made
// together in one.
func (p *Plan) Turns() []Turn {
	hosts := make([]int, len(p.Changes)) // that make the change
	for _, h := range p.Hosts {
		for _, at := range h.Changes {
			hosts[at]++
		}
	}
	byStep := map[string]int{}
	var steps []Change
	for i, c := range p.Changes {
		if _, seen := byStep[c.Step]; !seen && c.MaxParallel > 0 {
			steps = append(steps, c)
		}
		byStep[c.Step] += hosts[i]
	}
	var out []Turn
	for _, c := range steps {
		turns := (byStep[c.Step] + c.MaxParallel - 1) / c.MaxParallel
		i := slices.IndexFunc(out, func(t Turn) bool { return t.MaxParallel == c.MaxParallel && t.Turns == turns })
		if i < 0 {
			i = len(out)
			out = append(out, Turn{MaxParallel: c.MaxParallel, Turns: turns})
		}
		out[i].Steps = append(out[i].Steps, c.Name)
	}
	return out
}
