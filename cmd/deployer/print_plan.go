package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/plan"
	"deployer/engine/sanitize"
	"deployer/inventory"
	"deployer/shortlist"
)

// shownGroups is the maximum number of groups of hosts in a short plan; with their
// changes they fill a screen.
const shownGroups = 12

// printChanges prints the changes of a plan: one entry for all hosts with the same
// changes, each distinct diff once. With all, it prints every group of hosts, and hosts
// whose contents differ have entries of their own.
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
		fmt.Fprintf(w, "and %d more groups with %s; -v shows them\n", len(more), hostCount(hosts))
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
		fmt.Fprintf(w, "      %s %s: %s", sanitize.Line(string(e.Kind)), sanitize.Line(e.Target), sanitize.Line(e.Phrase()))
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

// shownPods is the maximum number of listed pods of a drain in a short plan.
const shownPods = 10

// shownDiff returns the diff of an effect; unless all is set, it cuts the pods of a
// drain to the first ones.
func shownDiff(e engine.Effect, all bool) string {
	lines := strings.SplitAfter(e.Diff, "\n")
	if more := podsOf(e) - shownPods; e.Kind == engine.EffectDrain && more > 0 && !all {
		return strings.Join(lines[:shownPods], "") + fmt.Sprintf("and %d more pods; -v shows them\n", more)
	}
	return e.Diff
}

// podsOf returns the number of pods that a drain evicts.
func podsOf(e engine.Effect) int { return strings.Count(e.Diff, "\n") }

func indented(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		b.WriteString(by + line)
	}
	return b.String()
}

func hostCount(n int) string { return shortlist.Count(n, "host") }

// countEffects returns the number of effects of each kind on all hosts.
func countEffects(p *plan.Plan) string {
	var all []int
	for _, h := range p.Hosts {
		all = append(all, h.Changes...)
	}
	return p.Count(slices.Clip(all))
}

// changedHosts returns the hosts that the plan changes.
func changedHosts(p *plan.Plan) []string {
	var out []string
	for _, h := range p.Hosts {
		if len(h.Changes) > 0 {
			out = append(out, h.Name)
		}
	}
	return out
}

// restartedUnits returns the targets of restarts.
func restartedUnits(p *plan.Plan) []string {
	var out []string
	seen := map[string]bool{}
	for _, c := range p.Changes {
		for _, e := range c.Effects {
			if e.Kind == engine.EffectRestart && !seen[e.Target] {
				seen[e.Target], out = true, append(out, sanitize.Line(e.Target))
			}
		}
	}
	return out
}

// hostsWith returns the hosts with an effect of a kind.
func hostsWith(p *plan.Plan, kind engine.EffectKind) []string {
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

// rebootedHosts returns the hosts that the plan reboots.
func rebootedHosts(p *plan.Plan) []string { return hostsWith(p, engine.EffectReboot) }

// printDrained prints the nodes that the plan drains and the number of their pods.
func printDrained(w io.Writer, p *plan.Plan) {
	pods := 0
	for _, c := range p.Changes {
		for _, e := range c.Effects {
			if e.Kind == engine.EffectDrain {
				pods += podsOf(e)
			}
		}
	}
	if hosts := hostsWith(p, engine.EffectDrain); len(hosts) > 0 {
		fmt.Fprintf(w, "drained: %s (%s), %s\n", inventory.CompressText(hosts), hostCount(len(hosts)), shortlist.Count(pods, "pod"))
	}
}
