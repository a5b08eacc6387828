package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func newVersionCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(e.stdout, versionLine())
			return err
		},
	}
}

// versionLine names the program, its version and what it was built with and for.
func versionLine() string {
	return fmt.Sprintf("deployer %s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
