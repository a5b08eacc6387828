package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"deployer/test/bench/measure"
	"deployer/test/lab/lab"
	"deployer/test/lab/plan"
)

// The measured installers.
const (
	toolDeployer = "deployer"
	toolKubeadm  = "kubeadm"
)

// benchmark is the whole benchmark; its fields are set by flags.
type benchmark struct {
	out              io.Writer
	runs             int
	only             string
	keep             bool
	deployer         string
	artifacts        string
	logs             string
	cache            string
	masters, minions int
}

// phase is one part of a measured time.
type phase struct {
	name string
	took time.Duration
}

// measurement is the measurement of one cluster, from bare hosts to the moment at
// which all nodes are Ready.
type measurement struct {
	took     time.Duration
	prepared time.Duration // kubeadm's preparation, which is before that
	usage    measure.Usage
	phases   []phase
	notes    []string // lines to print below the phases
}

// run measures deployer and kubeadm alternately, so that changes of the machine over
// time affect both, and one lab at a time, so that neither slows the other.
func (b *benchmark) run(ctx context.Context) error {
	var s sums
	for n := 1; n <= b.runs; n++ {
		for _, tool := range []string{toolDeployer, toolKubeadm} {
			if b.only != "" && b.only != tool {
				continue
			}
			m, err := b.measure(ctx, tool, n)
			if err != nil {
				return fmt.Errorf("%s, run %d: %w", tool, n, err)
			}
			b.show(tool, n, m)
			s.add(tool, m)
		}
	}
	fmt.Fprintln(b.out, s.summaryLine())
	return nil
}

// measure boots bare hosts, measures an installation on them, and removes them unless
// --keep is set.
func (b *benchmark) measure(ctx context.Context, tool string, n int) (m measurement, err error) {
	spec := plan.Spec{Name: fmt.Sprintf("bench-%s-%d", tool, n), Masters: b.masters, Minions: b.minions}
	b.say("%s, run %d of %d: %s", tool, n, b.runs, measure.Machine())
	l, err := lab.Up(ctx, spec, lab.Options{Tied: !b.keep})
	if err != nil {
		return m, err
	}
	defer func() {
		if b.keep {
			b.say("lab %s is left up; `go run ./test/lab down --name %s` removes it", l.Name, l.Name)
			return
		}
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		err = errors.Join(err, l.Down(again))
	}()
	b.say("%d bare hosts are up", len(l.Hosts))
	if tool == toolKubeadm {
		return b.measureKubeadm(ctx, l, b.logFile(tool, n, "log"))
	}
	return b.measureDeployer(ctx, l, b.logFile(tool, n, "jsonl"))
}

func (b *benchmark) logFile(tool string, n int, ext string) string {
	return filepath.Join(b.logs, fmt.Sprintf("%s-%d.%s", tool, n, ext))
}

func (b *benchmark) say(format string, args ...any) {
	fmt.Fprintf(b.out, "%s %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}

// show prints one measurement.
func (b *benchmark) show(tool string, n int, m measurement) {
	fmt.Fprintf(b.out, "\n%s, run %d: %.1f s until all Ready; %s\n", tool, n, m.took.Seconds(), m.usage)
	for _, p := range m.phases {
		fmt.Fprintf(b.out, "  %-48s %6.1f s\n", p.name, p.took.Seconds())
	}
	if len(m.notes) > 0 {
		fmt.Fprintln(b.out, "  "+strings.Join(m.notes, "\n  "))
	}
	fmt.Fprintln(b.out)
}
