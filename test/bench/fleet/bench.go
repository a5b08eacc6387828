package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"deployer/test/bench/measure"
)

// benchmark is the whole benchmark; its fields are set by flags.
type benchmark struct {
	out      io.Writer
	sizes    []int
	steps    int
	forks    int
	latency  time.Duration
	deployer string
	dir      string
	profile  string
}

// size has the figures of one fleet.
type size struct {
	hosts              int
	first, second, one run
}

func (b *benchmark) run(ctx context.Context) error {
	fmt.Fprintf(b.out, "%d steps on each host, %d hosts at once, round trips of %v; %s\n\n",
		b.steps, b.forks, b.latency, measure.Machine())
	fmt.Fprintln(b.out, heading)
	var all []size
	for _, n := range b.sizes {
		s, err := b.size(ctx, n)
		if err != nil {
			return fmt.Errorf("%d hosts: %w", n, err)
		}
		all = append(all, s)
	}
	rates, err := b.transport(ctx)
	if err != nil {
		return fmt.Errorf("the transport alone: %w", err)
	}
	fmt.Fprintf(b.out, "\n%s\n", rates)
	for _, s := range all {
		fmt.Fprintln(b.out, s.summaryLine())
	}
	return nil
}

// transport measures the transport without a run.
func (b *benchmark) transport(ctx context.Context) (rates transportRates, err error) {
	err = b.withHosts(ctx, transportHosts, 0, func(_ *hosts, dir string) error {
		rates, err = measureTransport(ctx, filepath.Join(dir, inventoryFile))
		return err
	})
	return rates, err
}

// withHosts runs f with a new fleet, which it removes afterwards.
func (b *benchmark) withHosts(ctx context.Context, n int, latency time.Duration, do func(h *hosts, dir string) error) (err error) {
	dir, err := os.MkdirTemp(b.dir, "bench-fleet-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := startHosts(ctx, n, latency, b.forks, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	return do(h, dir)
}

// size measures one fleet.
func (b *benchmark) size(ctx context.Context, n int) (size, error) {
	s := size{hosts: n}
	err := b.withHosts(ctx, n, b.latency, func(h *hosts, dir string) error {
		if err := writePlaybook(dir, b.steps); err != nil {
			return err
		}
		before, after := filepath.Join(dir, inventoryFile), filepath.Join(dir, changedFile)
		for _, m := range []struct {
			name string
			into *run
			args []string
			want expected
		}{
			{"first", &s.first, []string{"-i", before}, expected{hosts: n, change: true}},
			{"second", &s.second, []string{"-i", before}, expected{hosts: n}},
			{"one", &s.one, []string{"-i", after, "--limit", changedHost(n)}, expected{hosts: 1, change: true}},
		} {
			var err error
			if *m.into, err = b.measure(ctx, h, dir, fmt.Sprintf("%d-%s", n, m.name), m.args...); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			fmt.Fprintln(b.out, m.into.row(n, m.name))
			if err := m.want.check(*m.into, b.steps, b.forks); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
		return nil
	})
	return s, err
}
