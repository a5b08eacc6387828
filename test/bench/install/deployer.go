package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"deployer/test/bench/measure"
	"deployer/test/lab/lab"
)

// installLimit is the maximum duration of one install. An install that takes longer
// hangs.
const installLimit = 10 * time.Minute

// measureDeployer times `deployer install` until it exits and until all nodes are
// Ready, whichever is later. All artifacts are in the controller's cache before it
// starts.
func (b *benchmark) measureDeployer(ctx context.Context, l *lab.Lab, log string) (m measurement, err error) {
	if _, err := b.runDeployer(ctx, l, log+".fetch", "artifacts", "fetch"); err != nil {
		return m, err
	}
	settle()
	b.say("deployer install starts; events go to %s", log)
	before, err := measure.Look(ctx, l)
	if err != nil {
		return m, err
	}
	start := time.Now()
	controller, err := b.runDeployer(ctx, l, log, "install", "--output", "json")
	exited := time.Now()
	if err != nil {
		return m, errors.Join(err, failures(log))
	}
	if err := waitReady(ctx, l); err != nil {
		return m, fmt.Errorf("deployer exited with 0, but %w", err)
	}
	after, err := measure.Look(ctx, l)
	if err != nil {
		return m, err
	}
	m.usage = after.Since(before)
	m.usage.Own += controller
	return m, m.explain(ctx, l, log, start, exited)
}

// explain sets the measured time and its phases. When a node became Ready after
// deployer had exited, the time ends with the node.
func (m *measurement) explain(ctx context.Context, l *lab.Lab, log string, start, exited time.Time) error {
	ready, err := lastReady(ctx, l)
	if err != nil {
		return err
	}
	m.took = exited.Sub(start)
	if ready.After(exited) {
		m.took = ready.Sub(start)
		m.notes = append(m.notes, fmt.Sprintf("deployer exited %.0f s before the last node was Ready", ready.Sub(exited).Seconds()))
	}
	m.phases = []phase{
		{"until the last node said Ready (to the second)", ready.Sub(start)},
		{"until deployer install exited", exited.Sub(start)},
	}
	events, err := readEvents(log)
	if err != nil {
		return err
	}
	m.notes = append(m.notes, account(events, start, exited)...)
	lines, err := outcome(ctx, l)
	m.notes = append(m.notes, lines...)
	return err
}

// settle writes the data that boot and preparation left in memory to disk. Otherwise
// the kernel would write it in the measured time, while etcd waits for its own
// writes.
func settle() { syscall.Sync() }

// runDeployer runs a command of deployer as the controller. Its output goes to a
// file; its state, such as known hosts, is separate from the user's. It returns the
// processor time of the command on the controller.
func (b *benchmark) runDeployer(ctx context.Context, l *lab.Lab, log string, verb ...string) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, installLimit, fmt.Errorf("not done within %s", installLimit))
	defer cancel()
	file, err := os.Create(log)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	argv := append([]string{b.deployer}, verb...)
	cmd := l.Command(ctx, append(argv, "-i", l.Files.Inventory())...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+l.Files.Dir)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = file, &stderr
	err = cmd.Run()
	if err == nil {
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
	}
	var exit *exec.ExitError
	if ctx.Err() != nil && !errors.As(context.Cause(ctx), &exit) {
		err = context.Cause(ctx)
	}
	return 0, fmt.Errorf("deployer %s: %w\n%s", strings.Join(verb, " "), err, strings.TrimSpace(stderr.String()))
}

// failures names the root causes in the last event of a run that failed.
func failures(log string) error {
	events, err := readEvents(log)
	if err != nil || len(events) == 0 {
		return err
	}
	report := events[len(events)-1].Report
	if report == nil {
		return fmt.Errorf("its last event is not the end of the run; see %s", log)
	}
	var all []error
	for _, h := range report.Broken() {
		all = append(all, fmt.Errorf("%s: %s: %s %s", h.Host, h.FailedStep, h.Failure.Message, h.Failure.Detail))
	}
	if report.Aborted != "" {
		all = append(all, errors.New(report.Aborted))
	}
	return errors.Join(all...)
}
