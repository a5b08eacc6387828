package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"deployer/engine"
)

// drainDelay bounds the wait for output after the command has ended: a daemon that
// it started may hold the pipe open forever.
const drainDelay = 2 * time.Second

// RunCommand runs a program on this machine. When ctx ends, the program is killed
// with all its children. Messages are in the C locale, as modules parse them, unless
// the command sets another.
func RunCommand(ctx context.Context, c engine.Command) (engine.CommandResult, error) {
	if len(c.Argv) == 0 {
		return engine.CommandResult{}, errors.New("running a command: no program is given")
	}
	limit := c.MaxOutput
	if limit <= 0 {
		limit = engine.DefaultMaxOutput
	}
	stdout, stderr := headTail{limit: limit}, headTail{limit: limit}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, c.Dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.User != "" {
		if err := runAs(ctx, cmd, c.User); err != nil {
			return engine.CommandResult{}, err
		}
	}
	cmd.Env = append(cmd.Env, c.Env...)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = drainDelay
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	began := time.Now()
	err := cmd.Run()
	result := engine.CommandResult{Stdout: stdout.String(), Stderr: stderr.String(), Elapsed: time.Since(began)}
	if ctx.Err() != nil {
		return result, fmt.Errorf("running %s: %w", c.Argv[0], context.Cause(ctx))
	}
	var status *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return result, nil
	case errors.As(err, &status):
		result.Exit = exitCode(status)
		return result, nil
	}
	return result, fmt.Errorf("running %s: %w", c.Argv[0], err)
}

// exitCode returns the exit code as shells do: 128 plus the signal's number for a
// killed program.
func exitCode(e *exec.ExitError) int {
	if ws, ok := e.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return e.ExitCode()
}

// headTail keeps the beginning and the end of what is written to it, half the limit
// each, and the number of bytes dropped between.
type headTail struct {
	limit   int
	head    []byte
	tail    []byte
	dropped int
}

func (m *headTail) Write(p []byte) (int, error) {
	n := len(p)
	if room := m.limit/2 - len(m.head); room > 0 {
		take := min(room, len(p))
		m.head = append(m.head, p[:take]...)
		p = p[take:]
	}
	m.tail = append(m.tail, p...)
	// Cutting only at twice the size keeps many small writes cheap.
	if len(m.tail) > m.limit {
		m.cut()
	}
	return n, nil
}

func (m *headTail) cut() {
	if over := len(m.tail) - (m.limit - m.limit/2); over > 0 {
		m.dropped += over
		m.tail = append(m.tail[:0], m.tail[over:]...)
	}
}

func (m *headTail) String() string {
	m.cut()
	if m.dropped == 0 {
		return string(m.head) + string(m.tail)
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", m.head, m.dropped, m.tail)
}
