package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/plan"
	"deployer/inventory"
)

// shownGroups is how many groups of hosts are shown one by one: with the lines
// of their changes that fills a screen.
const shownGroups = 12

// printChanges shows what hosts have in common, so that many fit on a screen: one
// entry for the hosts with the same changes, each distinct diff once. With all,
// hosts whose contents differ have entries of their own.
func printChanges(w io.Writer, p *plan.Plan, diffs, all bool) {
	groups := p.Fold(all)
	shown := groups
	if !all {
		shown = groups[:min(len(groups), shownGroups)]
	}
	printed := map[string]int{} // number of a diff by its text
	for _, g := range shown {
		fmt.Fprintf(w, "%s (%s): %s\n", inventory.CompressText(g.Hosts), hostCount(len(g.Hosts)), p.Count(g.Changes))
		for _, at := range g.Changes {
			own := ""
			if g.Own[at] {
				own = fmt.Sprintf("  (as on %s; each host has its own)", g.Hosts[0])
			}
			printChange(w, p.Changes[at], own, diffs, all, printed)
		}
	}
	if more := groups[len(shown):]; len(more) > 0 {
		hosts := 0
		for _, g := range more {
			hosts += len(g.Hosts)
		}
		fmt.Fprintf(w, "and %d more groups, %s in all; -v shows them\n", len(more), hostCount(hosts))
	}
}

func printChange(w io.Writer, c plan.Change, own string, diffs, all bool, printed map[string]int) {
	name := c.Name
	if c.Role != "" {
		name = c.Role + ": " + name
	}
	if c.MaxParallel > 0 {
		name += fmt.Sprintf("  (at most %d at a time)", c.MaxParallel)
	}
	fmt.Fprintf(w, "  %s%s\n", name, own)
	if c.Unknown != "" {
		fmt.Fprintf(w, "      unknown: %s\n", strings.ReplaceAll(c.Unknown, "\n", " "))
	}
	for _, e := range c.Effects {
		if e.Kind == "" {
			continue
		}
		fmt.Fprintf(w, "      %s %s: %s", e.Kind, e.Target, e.Action)
		if e.Secret {
			fmt.Fprint(w, " (secret content is not shown)")
		}
		number, seen := printed[e.Diff]
		switch {
		case !diffs || e.Diff == "":
		case seen:
			fmt.Fprintf(w, "  (diff %d, above)", number)
		default:
			printed[e.Diff] = len(printed) + 1
			fmt.Fprintf(w, "  (diff %d)\n%s", len(printed), indented(shownDiff(e, all), "        "))
			continue
		}
		fmt.Fprintln(w)
	}
}

// shownPods is how many of the pods that would move are listed.
const shownPods = 10

// shownDiff is the diff of an effect. Of the pods on nodes that are drained the
// first ones say what kind of pods they are.
func shownDiff(e engine.Effect, all bool) string {
	lines := strings.SplitAfter(e.Diff, "\n")
	if more := podsOf(e) - shownPods; e.Kind == engine.EffectDrain && more > 0 && !all {
		return strings.Join(lines[:shownPods], "") + fmt.Sprintf("and %d more pods; -v shows them\n", more)
	}
	return e.Diff
}

// podsOf is how many pods would leave the nodes that are drained.
func podsOf(e engine.Effect) int { return strings.Count(e.Diff, "\n") }

func indented(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		b.WriteString(by + line)
	}
	return b.String()
}

func hostCount(n int) string { return counted(n, "host") }

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// counts says how often each kind of effect would happen on all hosts.
func counts(p *plan.Plan) string {
	var all []int
	for _, h := range p.Hosts {
		all = append(all, h.Changes...)
	}
	return p.Count(slices.Clip(all))
}

// changedHosts are the hosts on which something would happen.
func changedHosts(p *plan.Plan) []string {
	var out []string
	for _, h := range p.Hosts {
		if len(h.Changes) > 0 {
			out = append(out, h.Name)
		}
	}
	return out
}

// restarts are the targets of restarts and of unit actions.
func restarts(p *plan.Plan) []string {
	var out []string
	for _, c := range p.Changes {
		for _, e := range c.Effects {
			if e.Kind == engine.EffectRestart && !slices.Contains(out, e.Target) {
				out = append(out, e.Target)
			}
		}
	}
	return out
}

// having are the hosts on which an effect of a kind would come.
func having(p *plan.Plan, kind engine.EffectKind) []string {
	var out []string
	for _, h := range p.Hosts {
		if slices.ContainsFunc(h.Changes, func(at int) bool {
			return slices.ContainsFunc(p.Changes[at].Effects, func(e engine.Effect) bool { return e.Kind == kind })
		}) {
			out = append(out, h.Name)
		}
	}
	return out
}

// rebooted are the hosts that would be rebooted.
func rebooted(p *plan.Plan) []string { return having(p, engine.EffectReboot) }

// printDrained says which nodes would be emptied, and how many pods move then.
func printDrained(w io.Writer, p *plan.Plan) {
	pods := 0
	for _, c := range p.Changes {
		for _, e := range c.Effects {
			if e.Kind == engine.EffectDrain {
				pods += podsOf(e)
			}
		}
	}
	if hosts := having(p, engine.EffectDrain); len(hosts) > 0 {
		fmt.Fprintf(w, "drained: %s (%s), %s\n", inventory.CompressText(hosts), hostCount(len(hosts)), counted(pods, "pod"))
	}
}
