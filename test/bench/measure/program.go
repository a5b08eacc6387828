// Package measure has the common parts of the benchmarks: the main function of their
// programs, and the measurement of the processor time of a machine and its hosts.
package measure

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Benchmark is a program that takes no arguments but flags.
type Benchmark struct {
	Name     string
	Short    string
	Complete func() error // checks the flags
	Run      func(context.Context) error
}

// Command returns the program's command, to add flags to.
func (b Benchmark) Command() *cobra.Command {
	return &cobra.Command{
		Use:           b.Name,
		Short:         b.Short,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PreRunE:       func(*cobra.Command, []string) error { return b.Complete() },
		RunE:          func(cmd *cobra.Command, _ []string) error { return b.Run(cmd.Context()) },
	}
}

// Main executes a command, which SIGINT and SIGTERM cancel, and exits with 1 when it
// has failed.
func Main(cmd *cobra.Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := cmd.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench-%s: %v\n", cmd.Name(), err)
		os.Exit(1)
	}
}

// Program returns the absolute path of the program to measure, or an error when the
// file does not exist.
func Program(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: run `make build` first", err)
	}
	return path, nil
}

// Machine describes the machine of the measurement, and its load.
func Machine() string {
	text := fmt.Sprintf("%s, %d processors", time.Now().Format(time.DateOnly), runtime.NumCPU())
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		minute, _, _ := strings.Cut(string(load), " ")
		text += ", load " + minute + " before the start"
	}
	return text
}
