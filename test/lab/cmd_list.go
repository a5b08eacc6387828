package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"deployer/test/lab/lab"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show every lab with its hosts and their condition",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			labs, err := lab.List(cmd.Context())
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "LAB\tHOST\tADDRESS\tROLE\tCONDITION")
			for _, s := range labs {
				if !s.Complete {
					fmt.Fprintf(w, "%s\t-\t-\t-\tincomplete\n", s.Name)
				}
				for _, h := range s.Hosts {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.Name, h.Name, h.Address, orDash(h.Role), h.Condition)
				}
			}
			return w.Flush()
		},
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func inventoryCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "inventory",
		Short: "Print the path of the lab's inventory",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(cmd.Context(), *name)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), l.Files.Inventory())
			return nil
		},
	}
}
