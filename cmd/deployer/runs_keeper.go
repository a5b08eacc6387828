package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

func newRunsKeeper(e env) *cobra.Command {
	var o historyOptions
	var output string
	var number int
	cmd := &cobra.Command{
		Use:   "keeper",
		Short: "List what the keepers did between runs, newest first",
		Long: `Keeper lists the actions of the keepers of a cluster: when which keeper did what to which
object, why, and with what result: done, in progress, or the error. The keepers write
them to a file of their masters, which is read over SSH, so the list needs no API. A
file has some thousand actions.

runs list shows them below the runs of the cluster when it reads the records of hosts.`,
		Example: `  deployer runs keeper
  deployer runs keeper -n 100 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if number < 1 {
				return usageError(fmt.Errorf("-n is %d: want a number from 1 on", number))
			}
			actions, err := o.keeperActions(cmd.Context(), e, newRunner(e), number)
			if err != nil {
				return err
			}
			slices.Reverse(actions)
			if output == "json" {
				return printJSON(e.stdout, actions)
			}
			return printKeeperActions(e.stdout, actions)
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	outputFlag(cmd, &output, "table", "json")
	cmd.Flags().IntVarP(&number, "number", "n", 20, "maximum number of listed actions, at most 200 of a keeper")
	return cmd
}
