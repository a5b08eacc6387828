package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"deployer/test/lab/lab"
)

func sshCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "ssh HOST [-- COMMAND...]",
		Short: "Log in to a host as root, or run a command there",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lab.Open(cmd.Context(), *name)
			if err != nil {
				return err
			}
			if _, err := l.Host(args[0]); err != nil {
				return err
			}
			return become(l.Enter(l.SSHArgs(args[0], args[1:]...)...))
		},
	}
}

func ctlCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "ctl -- COMMAND...",
		Short: "Run a command as the controller, inside the lab's network",
		Long: `Run a command as the controller, inside the lab's network.
Working directory, environment and exit code are kept. ("go run" turns every
exit code other than 0 into 1; build this program where the code matters.)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no command given; write it after --")
			}
			l, err := lab.Open(cmd.Context(), *name)
			if err != nil {
				return err
			}
			return become(l.Enter(args...))
		},
	}
}

// become replaces this process, so that the command gets the terminal, the
// signals and the exit code.
func become(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("running %s: %w", argv[0], syscall.Exec(path, argv, os.Environ()))
}
