package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// bench is the whole benchmark; its fields are set by flags.
type bench struct {
	out      io.Writer
	sizes    []int
	steps    int
	forks    int
	latency  time.Duration
	deployer string
	dir      string
	profile  string
}

// size is what was measured on one fleet.
type size struct {
	hosts              int
	first, second, one run
}

func (b *bench) run(ctx context.Context) error {
	fmt.Fprintf(b.out, "%d steps on each host, %d hosts at once, round trips of %v; %s\n\n",
		b.steps, b.forks, b.latency, machine())
	fmt.Fprintln(b.out, heading)
	var all []size
	for _, n := range b.sizes {
		s, err := b.size(ctx, n)
		if err != nil {
			return fmt.Errorf("%d hosts: %w", n, err)
		}
		all = append(all, s)
	}
	fmt.Fprintln(b.out)
	for _, s := range all {
		fmt.Fprintln(b.out, s.closing())
	}
	return nil
}

// size measures one fleet, which is new and gone afterwards.
func (b *bench) size(ctx context.Context, n int) (s size, err error) {
	dir, err := os.MkdirTemp(b.dir, "bench-fleet-")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := writePlaybook(dir, b.steps); err != nil {
		return s, err
	}
	h, err := startHosts(ctx, n, b.latency, b.forks, dir)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	s.hosts = n
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
		if *m.into, err = b.measure(ctx, h, dir, fmt.Sprintf("%d-%s", n, m.name), m.args...); err != nil {
			return s, fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintln(b.out, m.into.row(n, m.name))
		if err := m.want.check(*m.into, b.steps, b.forks); err != nil {
			return s, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return s, nil
}
