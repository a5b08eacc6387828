// Command fleet measures what many hosts cost the controller. It starts a fleet
// of made-up hosts in a process of its own (see test/fleet), with a network
// between that takes its time, and lets the real deployer run a playbook on
// them: a first time, a second time with nothing to change, and on one host of
// all after a variable of it changed. See docs/performance.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := benchCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-fleet:", err)
		os.Exit(1)
	}
}

func benchCommand() *cobra.Command {
	b := bench{out: os.Stdout}
	cmd := &cobra.Command{
		Use:           "fleet",
		Short:         "What many hosts cost the controller",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PreRunE:       func(*cobra.Command, []string) error { return b.complete() },
		RunE:          func(cmd *cobra.Command, _ []string) error { return b.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.IntSliceVar(&b.sizes, "hosts", []int{100, 300, 1000, 3000}, "sizes of the fleet, one after the other")
	f.IntVar(&b.steps, "steps", 300, "steps on each host")
	f.IntVar(&b.forks, "forks", 50, "hosts that are worked on at once")
	f.DurationVar(&b.latency, "latency", 20*time.Millisecond, "round trip of the network")
	f.StringVar(&b.deployer, "deployer", "bin/deployer", "the program to measure")
	f.StringVar(&b.dir, "dir", "/dev/shm", "where the hosts' directories are made; a disk would be what is measured")
	f.StringVar(&b.profile, "profile", "", "directory for profiles of the controller, one below it for each run")
	cmd.AddCommand(hostsCommand())
	return cmd
}

// complete checks the flags and makes paths absolute.
func (b *bench) complete() error {
	if b.steps < 1 || b.forks < 1 || b.latency < 0 || len(b.sizes) == 0 {
		return fmt.Errorf("--steps, --forks and --hosts must be at least 1, and --latency not negative")
	}
	var err error
	if b.deployer, err = filepath.Abs(b.deployer); err != nil {
		return err
	}
	if _, err := os.Stat(b.deployer); err != nil {
		return fmt.Errorf("%w: run `make build` first", err)
	}
	if b.profile != "" {
		b.profile, err = filepath.Abs(b.profile)
	}
	return err
}
