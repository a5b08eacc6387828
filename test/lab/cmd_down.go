package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"deployer/test/lab/lab"
)

func downCommand(name *string) *cobra.Command {
	var all, stale, images bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove a lab, or every lab, with all its resources on the machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (all || stale) && cmd.Flags().Changed("name") || all && stale {
				return errors.New("--name, --all and --stale exclude each other")
			}
			if images && !all {
				return errors.New("--images requires --all: every lab needs the image that it was created from")
			}
			start := time.Now()
			gone, err := remove(cmd, *name, all, stale)
			for _, lab := range gone {
				cmd.PrintErrf("%6.1fs  removed lab %s\n", time.Since(start).Seconds(), lab)
			}
			if err != nil || !images {
				return err
			}
			return lab.DownImages(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every lab of this machine, also incomplete ones")
	cmd.Flags().BoolVar(&stale, "stale", false, "only incomplete labs and labs whose test process has ended")
	cmd.Flags().BoolVar(&images, "images", false, "with --all: also the cached host image")
	return cmd
}

func remove(cmd *cobra.Command, name string, all, stale bool) ([]string, error) {
	switch {
	case stale:
		return lab.Sweep(cmd.Context())
	case all:
		names, err := lab.Names(cmd.Context())
		if err != nil {
			return nil, err
		}
		return names, lab.Down(cmd.Context(), names...)
	default:
		return []string{name}, lab.Down(cmd.Context(), name)
	}
}
