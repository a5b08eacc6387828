package plan

import (
	"fmt"
	"slices"
	"strings"

	"deployer/engine"
)

// Group is a set of hosts on which the same would happen.
type Group struct {
	Hosts []string // in inventory order
	// Changes are indexes into Plan.Changes: those of the first host.
	Changes []int
	// Own are the members of Changes whose contents, or texts with the host's name,
	// differ between the hosts.
	Own map[int]bool
}

// Fold groups the hosts that have changes, the largest group first. Hosts without
// changes are in no group. Contents with the name or address of their host differ on
// each of a thousand hosts and are still one thing to read, so such hosts form one
// group unless apart is true.
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

// outline returns the changes of a host without contents and its name, as a key.
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

// Count summarizes changes: "3 files, 1 restart".
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

// kinds are the kinds of effect in the order of a summary.
var kinds = []struct {
	kind engine.EffectKind
	word string
}{
	{engine.EffectFile, "file"}, {engine.EffectPackage, "package"}, {engine.EffectImage, "image"},
	{engine.EffectKernel, "kernel setting"}, {engine.EffectUnit, "unit action"}, {engine.EffectRestart, "restart"}, {engine.EffectReboot, "reboot"},
	{engine.EffectDrain, "drain"},
	{engine.EffectCommand, "command"}, {engine.EffectMember, "etcd member"}, {engine.EffectObject, "object"},
}

// LimitedSteps are steps that a limited number of hosts execute at a time.
type LimitedSteps struct {
	Steps       []string // names of the steps
	MaxParallel int      // maximum number of hosts at a time
	Turns       int      // number of turns for all hosts that the steps change
}

// LimitedSteps returns the steps with a limit of hosts. Steps with equal limits and numbers
// of turns are one element.
func (p *Plan) LimitedSteps() []LimitedSteps {
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
	var out []LimitedSteps
	for _, c := range steps {
		turns := (byStep[c.Step] + c.MaxParallel - 1) / c.MaxParallel
		i := slices.IndexFunc(out, func(s LimitedSteps) bool { return s.MaxParallel == c.MaxParallel && s.Turns == turns })
		if i < 0 {
			i = len(out)
			out = append(out, LimitedSteps{MaxParallel: c.MaxParallel, Turns: turns})
		}
		out[i].Steps = append(out[i].Steps, c.Name)
	}
	return out
}
