package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"deployer/engine/transport/sshtest"
	"deployer/test/fleet"
)

// The process of the hosts writes one line of JSON when they are up, and one line of
// figures for each line that it reads. A line that it reads names a file for a CPU
// profile until the next line; an empty line requests none. The process ends when its
// input ends, so that no hosts remain however the benchmark ends.

// figures are measurements of the hosts since the last query.
type figures struct {
	fleet.Traffic
	Busy int           // maximum number of hosts that were connecting or working at one time
	CPU  time.Duration // processor time of all hosts, user and system
}

func hostsCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "hosts N LATENCY FORKS DIR",
		Hidden: true,
		Args:   cobra.ExactArgs(4),
		// The flags of the benchmark are not for the hosts.
		PreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(_ *cobra.Command, args []string) error {
			n, nErr := strconv.Atoi(args[0])
			latency, latencyErr := time.ParseDuration(args[1])
			forks, forksErr := strconv.Atoi(args[2])
			for _, err := range []error{nErr, latencyErr, forksErr} {
				if err != nil {
					return err
				}
			}
			return serveHosts(n, latency, forks, args[3], os.Stdin, os.Stdout)
		},
	}
}

// serveHosts runs the hosts and writes two inventories to dir.
func serveHosts(n int, latency time.Duration, forks int, dir string, in io.Reader, out io.Writer) error {
	f, err := fleet.Start(n, fleet.Options{Dir: dir, Latency: latency, Name: hostName, Other: discardInput})
	if err != nil {
		return err
	}
	defer f.Close()
	if err := writeInventories(f, forks, dir); err != nil {
		return err
	}
	answers := json.NewEncoder(out)
	var before time.Duration
	noProfile := func() error { return nil }
	endProfile := noProfile
	for lines := bufio.NewScanner(in); ; {
		now, err := processorTime()
		if err != nil {
			return err
		}
		if err := answers.Encode(figures{Traffic: f.Traffic(), Busy: f.Busy(), CPU: now - before}); err != nil {
			return err
		}
		f.Forget()
		before = now
		if !lines.Scan() {
			return lines.Err()
		}
		if err := endProfile(); err != nil {
			return err
		}
		endProfile = noProfile
		if path := lines.Text(); path != "" {
			if endProfile, err = profile(path); err != nil {
				return err
			}
		}
	}
}

// profile writes a CPU profile to a file until end is called.
func profile(path string) (end func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// discardInput reads and discards the input of a host's command.
func discardInput(_ context.Context, c sshtest.Command) int {
	if _, err := io.Copy(io.Discard, c.Stdin); err != nil {
		return 1
	}
	return 0
}

// processorTime returns the processor time of this process.
func processorTime() (time.Duration, error) {
	var used syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), err
}

// hosts is the benchmark's end of the process of the hosts.
type hosts struct {
	process *exec.Cmd
	ask     io.WriteCloser
	answers *json.Decoder
}

func startHosts(ctx context.Context, n int, latency time.Duration, forks int, dir string) (*hosts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "hosts", strconv.Itoa(n), latency.String(), strconv.Itoa(forks), dir)
	cmd.Stderr = os.Stderr
	ask, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h := &hosts{process: cmd, ask: ask, answers: json.NewDecoder(answers)}
	var up figures
	if err := h.answers.Decode(&up); err != nil {
		return nil, fmt.Errorf("the hosts did not start: %w", err)
	}
	return h, nil
}

// figures returns the figures of the hosts since the last call. The CPU profile until
// the next call goes to the file profile, unless that is empty.
func (h *hosts) figures(profile string) (figures, error) {
	var f figures
	if _, err := io.WriteString(h.ask, profile+"\n"); err != nil {
		return f, fmt.Errorf("asking the hosts: %w", err)
	}
	err := h.answers.Decode(&f)
	return f, err
}

// stop ends the process of the hosts.
func (h *hosts) stop() error {
	_ = h.ask.Close()
	return h.process.Wait()
}
