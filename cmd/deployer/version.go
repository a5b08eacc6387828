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

// versionLine returns the name and version of the program, the Go version, and the
// platform.
func versionLine() string {
	return fmt.Sprintf("deployer %s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
