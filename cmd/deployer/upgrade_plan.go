package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/engine/view"
	"deployer/inventory"
	"deployer/limit"
	"deployer/runs"
)

func newUpgradePlan(e env) *cobra.Command {
	var o upgradeOptions
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show the order, the batches and the changes of an upgrade",
		Long: `Plan checks all hosts as an upgrade does and changes nothing. It prints the versions
that change, in the order of the upgrade, what is irreversible, the batches, and then
the changes of each host, as deployer plan does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.readRollout(cmd.Flags()); err != nil {
				return err
			}
			given, err := o.resolve()
			if err != nil {
				return err
			}
			given.Check = true
			r, err := newRunner(e).Upgrade(given)
			if err != nil {
				return err
			}
			limits, err := o.rollout(r.Project)
			if err != nil {
				return err
			}
			steps, err := o.plan.resolve(r.Project)
			if err != nil {
				return err
			}
			return planUpgrade(cmd.Context(), e, r, o, limits, steps)
		},
	}
	upgradeFlags(cmd, &o)
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	verboseFlag(cmd, &o.runOptions)
	forksFlag(cmd, &o.runOptions, "forks of the inventory, or 50")
	return cmd
}

func planUpgrade(ctx context.Context, e env, r *runs.Run, o upgradeOptions, limits cluster.Rollout, steps [][]stepHosts) error {
	results := &upgradeResults{}
	check := planOptions{runOptions: o.runOptions}
	found, err := runWithDisplay(ctx, r, check.checkDisplay(e.stderr, r.TargetHosts()).with(results), r.Plan)
	if err != nil {
		return err
	}
	if found.Plan == nil {
		view.Summary(e.stderr, "plan of "+r.Program.Name, found.Report, "")
		return exitOutcome(found.Report)
	}
	results.printChanges(e.stdout)
	printBatches(e.stdout, r.Project.Cluster, o, limits, steps)
	printHooks(e.stdout, r.Project.Cluster.Hooks)
	showPlan(e.stdout, r, found.Plan, o.verbose > 0, check.estimator(ctx, e))
	return exitOutcome(found.Report)
}

// printBatches prints the order of hosts with the sizes of batches and the limits.
func printBatches(w io.Writer, c *cluster.Cluster, o upgradeOptions, limits cluster.Rollout, steps [][]stepHosts) {
	batch, _ := limit.Parse(o.batch) // resolve has parsed it
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
	minions := minionsOf(c)
	line("a verified snapshot of etcd, of a follower where there is one")
	line("etcd: %s, one at a time", inventory.CompressText(members))
	line("masters: %s, one at a time", inventory.CompressText(c.Masters))
	if len(minions) == 0 {
		return
	}
	first := fmt.Sprintf("%d first, one at a time, then ", o.canary)
	switch o.canary {
	case 0:
		first = ""
	case 1:
		first = "one first, then "
	}
	line("minions: %s, %sat most %d at a time", inventory.CompressText(minions), first, max(batch.Of(len(minions)), 1))
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
