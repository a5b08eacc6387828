package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"deployer/test/lab/lab"
)

// hostCommands returns the commands that change the state of hosts, one host after another.
func hostCommands(name *string) []*cobra.Command {
	verbs := []struct {
		use, short, done string
		do               func(*lab.Lab, context.Context, string) error
	}{
		{"kill", "Stop hosts immediately, as a power cut does", "is down", (*lab.Lab).Kill},
		{"start", "Boot hosts that are down", "is up", (*lab.Lab).Start},
		{"reboot", "Shut hosts down cleanly and boot them again", "is up again", (*lab.Lab).Reboot},
		{"partition", "Cut hosts off from the network", "is cut off", (*lab.Lab).Partition},
		{"heal", "End a partition", "is connected", (*lab.Lab).Heal},
	}
	var commands []*cobra.Command
	for _, v := range verbs {
		commands = append(commands, &cobra.Command{
			Use:   v.use + " HOST...",
			Short: v.short,
			Args:  cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, hosts []string) error {
				l, err := lab.Open(cmd.Context(), *name)
				if err != nil {
					return err
				}
				for _, h := range hosts {
					start := time.Now()
					if err := v.do(l, cmd.Context(), h); err != nil {
						return err
					}
					cmd.PrintErrf("%6.1fs  %s %s\n", time.Since(start).Seconds(), h, v.done)
				}
				return nil
			},
		})
	}
	return append(commands, readdressCommand(name))
}

func readdressCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "readdress HOST ADDRESS",
		Short: "Shut a host down cleanly and boot it with another address",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lab.Open(cmd.Context(), *name)
			if err != nil {
				return err
			}
			return l.Readdress(cmd.Context(), args[0], args[1])
		},
	}
}
