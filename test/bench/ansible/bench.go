package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"deployer/test/bench/measure"
	"deployer/test/lab/lab"
	"deployer/test/lab/plan"
)

// benchmark is the whole benchmark; its fields are set by flags, and by run.
type benchmark struct {
	out      io.Writer
	rounds   int
	hosts    int
	tools    []string
	keep     bool
	deployer string

	lab      *lab.Lab
	material material
	look     string // state of a host after a first run, the same for every tool
	took     times
	used     times // processor time of hosts and controller
}

// kinds are the runs that are measured of each tool, in this order.
var kinds = []struct {
	name    string
	changed int // tasks of each host
}{{"first", tasks}, {"second", 0}, {"onefile", 1}}

// run measures all tools in each round, so that changes of the machine over time
// affect all of them.
func (b *benchmark) run(ctx context.Context) (err error) {
	b.say("%d tasks on each of %d hosts, %d rounds; %s", tasks, b.hosts, b.rounds, measure.Machine())
	spec := plan.Spec{Name: "bench-ansible", Hosts: b.hosts}
	// Ansible needs Python on the hosts; deployer and the script do not.
	b.lab, err = lab.Up(ctx, spec, lab.Options{Tied: !b.keep, Packages: []string{"python3"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.down(ctx)) }()
	dir, err := os.MkdirTemp("", "bench-ansible-site-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if b.material, err = newMaterial(dir, b.lab.Files, b.lab.Hosts); err != nil {
		return err
	}
	err = b.turns(ctx)
	fmt.Fprintf(b.out, "\n%s\n\n%s\n", b.took.table("seconds", b.tools), b.used.table("processor", b.tools))
	for _, k := range kinds {
		fmt.Fprintln(b.out, b.took.summaryLine(k.name))
	}
	return err
}

// turns measures all tools in each round. A tool that fails is left out of the later
// rounds; the figures of the others remain valid.
func (b *benchmark) turns(ctx context.Context) error {
	var errs []error
	left := slices.Clone(b.tools)
	for n := 1; n <= b.rounds; n++ {
		for _, tool := range slices.Clone(left) {
			err := b.tool(ctx, tool)
			if ctx.Err() != nil {
				return errors.Join(append(errs, err)...)
			}
			if err != nil {
				b.say("%s has failed and is left out from here on", tool)
				errs = append(errs, fmt.Errorf("round %d: %w", n, err))
				left = slices.DeleteFunc(left, func(t string) bool { return t == tool })
			}
		}
	}
	return errors.Join(errs...)
}

func (b *benchmark) down(ctx context.Context) error {
	if b.keep {
		b.say("lab %s is left up; `go run ./test/lab down --name %s` removes it", b.lab.Name, b.lab.Name)
		return nil
	}
	again, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	return b.lab.Down(again)
}

// tool measures the three runs of one tool, on hosts that it resets first.
func (b *benchmark) tool(ctx context.Context, tool string) error {
	if err := b.material.setVersion(1); err != nil {
		return err
	}
	reset := b.material.everywhere(func(string) string { return b.material.path("reset.sh") })
	if out, err := b.lab.Command(ctx, "sh", "-c", reset).CombinedOutput(); err != nil {
		return fmt.Errorf("clearing the hosts: %w\n%s", err, tail(string(out)))
	}
	for _, k := range kinds {
		if k.name == "onefile" {
			if err := b.material.setVersion(2); err != nil {
				return err
			}
		}
		if err := b.measure(ctx, tool, k.name, k.changed*b.hosts); err != nil {
			return fmt.Errorf("%s, %s: %w", tool, k.name, err)
		}
	}
	return nil
}

// measure runs a tool once and checks that it made the expected changes.
func (b *benchmark) measure(ctx context.Context, tool, kind string, changed int) error {
	scratch, err := os.MkdirTemp("", "bench-ansible-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	defer b.hangUp(context.WithoutCancel(ctx), scratch)
	syscall.Sync() // so that the run does not wait for earlier writes
	before, err := measure.Look(ctx, b.lab)
	if err != nil {
		return err
	}
	began := time.Now()
	output, controller, err := b.start(ctx, tool, scratch)
	took := time.Since(began)
	if err != nil {
		return err
	}
	after, err := measure.Look(ctx, b.lab)
	if err != nil {
		return err
	}
	usage := after.Since(before)
	usage.Own += controller
	got, err := changes(tool, output)
	if err != nil {
		return err
	}
	if got != changed {
		return fmt.Errorf("it has changed %d times, want %d\n%s", got, changed, tail(output))
	}
	if kind == "first" {
		if err := b.same(ctx, tool); err != nil {
			return err
		}
	}
	b.took.add(tool, kind, took)
	b.used.add(tool, kind, usage.Own)
	b.say("%-8s %-7s %6.2f s; %s", tool, kind, took.Seconds(), usage)
	return nil
}

// same checks that the last host has the state that the first tool left.
func (b *benchmark) same(ctx context.Context, tool string) error {
	last := b.lab.Hosts[len(b.lab.Hosts)-1].Name
	look, err := b.lab.SSH(ctx, last, strings.TrimSpace(lookScript()))
	if err != nil {
		return fmt.Errorf("looking at %s: %w", last, err)
	}
	if b.look == "" {
		b.look = look
	}
	if look != b.look {
		return fmt.Errorf("%s made something else of %s than the tool before:\n%s\ninstead of\n%s", tool, last, look, b.look)
	}
	return nil
}

func (b *benchmark) say(format string, args ...any) {
	fmt.Fprintf(b.out, "%s %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}
