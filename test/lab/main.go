// Command lab creates and removes labs: real systemd hosts with sshd on one machine, as
// hosts for deployer. See docs/lab.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "lab:", err)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode())
	}
	os.Exit(1)
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "lab",
		Short:         "Real systemd hosts with sshd on one machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	name := root.PersistentFlags().StringP("name", "n", "lab", "name of the lab")
	root.AddCommand(upCommand(name), downCommand(name), listCommand(), inventoryCommand(name))
	root.AddCommand(sshCommand(name), ctlCommand(name))
	root.AddCommand(hostCommands(name)...)
	root.AddCommand(watchCommand(name))
	return root
}
