package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

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
			given, err := o.resolve()
			if err != nil {
				return err
			}
			given.Check = true
			r, err := newRunner(e).Upgrade(given)
			if err != nil {
				return err
			}
			return planUpgrade(cmd.Context(), e, r, o)
		},
	}
	upgradeFlags(cmd, &o)
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	verboseFlag(cmd, &o.runOptions)
	forksFlag(cmd, &o.runOptions, "forks of the inventory, or 50")
	return cmd
}

func planUpgrade(ctx context.Context, e env, r *runs.Run, o upgradeOptions) error {
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
	printBatches(e.stdout, r, o)
	showPlan(e.stdout, r, found.Plan, o.verbose > 0, check.estimator(ctx, e))
	return exitOutcome(found.Report)
}

// printBatches prints the order of hosts with the sizes of batches.
func printBatches(w io.Writer, r *runs.Run, o upgradeOptions) {
	c := r.Project.Cluster
	batch, _ := limit.Parse(o.batch) // resolve has parsed it
	step := 1
	line := func(format string, args ...any) {
		fmt.Fprintf(w, "  %d. "+format+"\n", append([]any{step}, args...)...)
		step++
	}
	fmt.Fprintln(w, "order:")
	var members, minions []string
	for _, m := range c.Etcd.Members {
		members = append(members, m.Name)
	}
	for _, name := range c.Minions {
		if !c.Nodes[name].IsMaster {
			minions = append(minions, name)
		}
	}
	line("a verified snapshot of etcd on %s", members[0])
	line("etcd: %s, one at a time", inventory.CompressText(members))
	line("masters: %s, one at a time", inventory.CompressText(c.Masters))
	if len(minions) > 0 {
		line("minions: %s, one first, then at most %d at a time", inventory.CompressText(minions), max(batch.Of(len(minions)), 1))
	}
}
