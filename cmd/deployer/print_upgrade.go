package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/inventory"
	"deployer/operations"
	"deployer/project"
	"deployer/runs"
)

// printVersionChanges prints a line for each change, and the changes that a rollback does not take
// back.
func printVersionChanges(w io.Writer, versions operations.VersionChanges) {
	if len(versions.Changes) == 0 {
		fmt.Fprintln(w, "versions: all hosts have those of the inventory")
		return
	}
	fmt.Fprintln(w, "versions, in this order:")
	for _, c := range versions.Changes {
		fmt.Fprintf(w, "  %s %s to %s: %s\n", c.Component, c.From, c.To, inventory.CompressText(c.Hosts))
	}
	for _, text := range versions.Irreversible {
		fmt.Fprintf(w, "irreversible: %s\n", text)
	}
}

// printSnapshot prints the place of a snapshot, if there is one.
func printSnapshot(w io.Writer, s operations.Snapshot) {
	if s.Place == "" {
		return
	}
	fmt.Fprintf(w, "snapshot of etcd: %s\n", s.Place)
	if s.Fingerprint != "" {
		fmt.Fprintf(w, "authenticated by the key: %s (cluster.etcd.backup.fingerprint)\n", s.Fingerprint)
	}
}

// printInventoryLine says which line of the inventory the version of --to belongs to. As
// long as the inventory has the older version, install refuses the downgrade.
func printInventoryLine(w io.Writer, r *runs.Run) {
	spec, err := project.KubernetesLine(r.Project.Inventory)
	if r.Kubernetes == "" || err != nil || spec.Version == r.Kubernetes {
		return
	}
	fmt.Fprintf(w, "%s: set kubernetes: %s there; until then deployer install refuses the older version\n", spec.Place, r.Kubernetes)
}

// printBatches prints the order of hosts with the sizes of batches and the limits.
func printBatches(w io.Writer, c *cluster.Cluster, o operations.UpgradeOptions, limits cluster.Rollout, steps [][]operations.StepHosts) {
	step := 1
	line := func(format string, args ...any) {
		fmt.Fprintf(w, "  %d. "+format+"\n", append([]any{step}, args...)...)
		step++
	}
	fmt.Fprintln(w, "order:")
	var members []string
	for _, m := range c.Etcd.Members {
		members = append(members, m.Name)
	}
	minions := operations.PlainMinions(c)
	line("a verified snapshot of etcd, of a follower where there is one")
	line("etcd: %s, one at a time", inventory.CompressText(members))
	line("masters: %s, one at a time", inventory.CompressText(c.Masters))
	if len(minions) == 0 {
		return
	}
	first := fmt.Sprintf("%d first, one at a time, then ", o.Canary)
	switch o.Canary {
	case 0:
		first = ""
	case 1:
		first = "one first, then "
	}
	line("minions: %s, %sat most %d at a time", inventory.CompressText(minions), first, max(o.BatchSize.Of(len(minions)), 1))
	printSteps(w, c, steps)
	for _, l := range limits.MaxUnavailable {
		fmt.Fprintf(w, "     at most %s at a time with the same %s\n", l.Limit, l.Label)
	}
	if limits.Spread != "" {
		fmt.Fprintf(w, "     in turns over the values of %s\n", limits.Spread)
	}
	critical := slices.DeleteFunc(minions, func(name string) bool { return !slices.Contains(limits.Critical, name) })
	if len(critical) > 0 {
		fmt.Fprintf(w, "     a failure on %s stops the upgrade\n", inventory.CompressText(critical))
	}
}

// printHooks prints the hooks that run on the controller, by phase.
func printHooks(w io.Writer, hooks []cluster.HookSpec) {
	for _, phase := range []struct{ name, text string }{{cluster.HookBefore, "before its pods leave"}, {cluster.HookAfter, "before it takes pods again"}} {
		var names []string
		for _, h := range hooks {
			switch {
			case h.Phase != phase.name:
			case h.Always:
				names = append(names, h.Name+" (also when pods stay)")
			default:
				names = append(names, h.Name)
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(w, "hooks of each node, %s: %s\n", phase.text, strings.Join(names, ", "))
		}
	}
}

// printSteps prints the hosts of each step with their limits.
func printSteps(w io.Writer, c *cluster.Cluster, steps [][]operations.StepHosts) {
	left := operations.PlainMinions(c)
	for i, step := range steps {
		for j, g := range step {
			place := fmt.Sprintf("step %d", i+1)
			if j > 0 {
				place = "beside it"
			}
			if g.Name != "" {
				place += ", " + g.Name
			}
			line := fmt.Sprintf("     %s: %s", place, inventory.CompressText(g.Minions))
			if g.BatchSize != nil {
				line += fmt.Sprintf(", at most %d at a time", max(g.BatchSize.Of(len(g.Minions)), 1))
			}
			if g.MaxFail != nil {
				line += fmt.Sprintf(", %d may fail", g.MaxFail.Of(len(g.Minions)))
			}
			fmt.Fprintln(w, line)
			left = slices.DeleteFunc(left, func(h string) bool { return slices.Contains(g.Minions, h) })
		}
	}
	if len(steps) > 0 && len(left) > 0 {
		fmt.Fprintf(w, "     then the others: %s\n", inventory.CompressText(left))
	}
}
