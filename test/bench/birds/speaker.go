package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// speaker is the BIRD of a node.
type speaker struct {
	name, conf, socket string
	cmd                *exec.Cmd
	log                bytes.Buffer
}

// start starts the BIRD in a namespace. The process is BIRD itself: ip netns exec replaces itself.
func (s *speaker) start(program, libraries, namespace string) error {
	s.cmd = exec.Command("ip", "netns", "exec", namespace, program, "-f", "-c", s.conf, "-s", s.socket)
	s.cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("starting the BIRD of %s: %w", s.name, err)
	}
	return nil
}

// stop ends the process, if it was started, and waits for its end.
func (s *speaker) stop() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// write writes the configuration and reports whether it has changed.
func (s *speaker) write(text string) (changed bool, err error) {
	if old, err := os.ReadFile(s.conf); err == nil && string(old) == text {
		return false, nil
	}
	return true, os.WriteFile(s.conf, []byte(text), 0o600)
}

// answerTimeout is the maximum time of a command.
const answerTimeout = 30 * time.Second

// ask sends a command to BIRD and returns the lines of its answer. It waits for the socket of a BIRD that
// has just started.
func (s *speaker) ask(ctx context.Context, command string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var conn net.Conn
	for {
		var err error
		if conn, err = new(net.Dialer).DialContext(ctx, "unix", s.socket); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("BIRD of %s: %w\n%s", s.name, err, s.log.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(conn)
	if !lines.Scan() { // 0001 BIRD 2.0.12 ready.
		return nil, fmt.Errorf("BIRD of %s does not answer: %w", s.name, errors.Join(lines.Err()))
	}
	if _, err := conn.Write([]byte(command + "\n")); err != nil {
		return nil, err
	}
	var out []string
	for lines.Scan() {
		line := lines.Text()
		out = append(out, line)
		if len(line) > 4 && line[4] == ' ' && line[0] != ' ' {
			if line[:4] >= "8000" {
				return nil, fmt.Errorf("BIRD of %s on %q: %s", s.name, command, line)
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("BIRD of %s has closed the connection", s.name)
}

// established returns the number of established sessions.
func (s *speaker) established(ctx context.Context) (n int, err error) {
	lines, err := s.ask(ctx, "show protocols")
	for _, line := range lines {
		if strings.Contains(line, " BGP ") && strings.Contains(line, "Established") {
			n++
		}
	}
	return n, err
}

// cost is what a process has used.
type cost struct {
	cpu time.Duration
	rss int64 // bytes
}

// cost reads the present cost of the process. Its processor time is that of its only thread
// (Documentation/scheduler/sched-stats.rst of the kernel, /proc/PID/schedstat).
func (s *speaker) cost() (c cost, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid))
	text, err := os.ReadFile(filepath.Join(dir, "schedstat"))
	if err != nil {
		return c, fmt.Errorf("BIRD of %s has ended: %w\n%s", s.name, err, s.log.String())
	}
	if c.cpu, err = parseCPU(string(text)); err != nil {
		return c, err
	}
	if text, err = os.ReadFile(filepath.Join(dir, "status")); err != nil {
		return c, err
	}
	c.rss, err = parseRSS(string(text))
	return c, err
}

// parseCPU parses the first number of schedstat, in nanoseconds.
func parseCPU(schedstat string) (time.Duration, error) {
	first, _, _ := strings.Cut(schedstat, " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("processor time in %q: %w", schedstat, err)
	}
	return time.Duration(ns), nil
}

// parseRSS returns VmRSS of the status of a process, in bytes.
func parseRSS(status string) (int64, error) {
	_, rest, ok := strings.Cut(status, "VmRSS:")
	f := strings.Fields(rest)
	if !ok || len(f) < 2 || f[1] != "kB" {
		return 0, errors.New("the status of a process has no VmRSS")
	}
	kib, err := strconv.ParseInt(f[0], 10, 64)
	return kib << 10, err
}
