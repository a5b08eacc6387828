package main

import (
	"github.com/spf13/cobra"

	"deployer/test/lab/lab"
)

func watchCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Boot hosts that have rebooted themselves, until interrupted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(cmd.Context(), *name)
			if err != nil {
				return err
			}
			l.Watch(cmd.Context(), func(text string) { cmd.PrintErrln(text) })
			return nil
		},
	}
}
