package main

import (
	"github.com/spf13/cobra"
)

func newUpgradePlan(e env) *cobra.Command {
	var o upgradeFlagValues
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show the order, the batches and the changes of an upgrade",
		Long: `Plan checks all hosts as an upgrade does and changes nothing. It prints the versions
that change, in the order of the upgrade, what is irreversible, the batches, and then
the changes of each host, as deployer plan does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			with, err := o.operation(cmd.Flags())
			if err != nil {
				return err
			}
			c := newConsole(e, o.runOptions, false)
			c.estimate = planOptions{runOptions: o.runOptions}.estimator(cmd.Context(), e)
			return c.operator(newRunner(e)).PlanUpgrade(cmd.Context(), with)
		},
	}
	upgradeFlags(cmd, &o)
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	verboseFlag(cmd, &o.runOptions)
	forksFlag(cmd, &o.runOptions, "forks of the inventory, or 50")
	return cmd
}
