package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"deployer/engine"
	"deployer/engine/journal"
)

// run has the measurements of one run of deployer.
type run struct {
	wall   time.Duration
	cpu    time.Duration // processor time of the controller, user and system
	rss    int64         // bytes, maximum memory of the controller
	report *engine.Report
	figures
}

// measure runs deployer and returns its measurements.
func (b *benchmark) measure(ctx context.Context, h *hosts, dir, name string, args ...string) (run, error) {
	profiles, ofHosts := "", ""
	if b.profile != "" {
		profiles = filepath.Join(b.profile, name)
		ofHosts = filepath.Join(profiles, "hosts.pprof")
	}
	if _, err := h.figures(ofHosts); err != nil { // discards the figures from before the run
		return run{}, err
	}
	state, err := os.MkdirTemp(dir, "state-")
	if err != nil {
		return run{}, err
	}
	var printed bytes.Buffer
	cmd := exec.CommandContext(ctx, b.deployer, append([]string{"run", filepath.Join(dir, "site.yaml")}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdout, cmd.Stderr = &printed, &printed
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
	if profiles != "" {
		cmd.Env = append(cmd.Env, "DEPLOYER_PROFILE="+profiles)
	}
	began := time.Now()
	err = cmd.Run()
	r := run{wall: time.Since(began)}
	if err != nil {
		return r, fmt.Errorf("%s: %w\n%s", cmd, err, tail(printed.Bytes()))
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.rss = usage.Maxrss << 10
	if r.report, err = reportIn(state); err != nil {
		return r, err
	}
	r.figures, err = h.figures("")
	return r, err
}

// reportIn reads the one journal in a state directory.
func reportIn(state string) (*engine.Report, error) {
	logs, err := filepath.Glob(filepath.Join(state, "deployer", "*", "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(logs) != 1 {
		return nil, fmt.Errorf("there are %d journals in %s, want 1", len(logs), state)
	}
	record, err := journal.Read(logs[0])
	if err != nil {
		return nil, err
	}
	if record.Report == nil {
		return nil, errors.New("the journal has no end")
	}
	return record.Report, nil
}

// tail returns the end of a text.
func tail(text []byte) []byte { return text[max(0, len(text)-2000):] }
