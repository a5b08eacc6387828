package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// execTimeout bounds a command of Match exec.
const execTimeout = 10 * time.Second

// execCache caches the results of Match exec: each command line runs once, as one
// without tokens is the same for all hosts.
type execCache struct {
	mu    sync.Mutex
	known map[string]bool
}

// run runs a command line with the user's shell, as ssh(1) does, and reports whether
// it succeeded.
func (c *execCache) run(line string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if holds, ok := c.known[line]; ok {
		return holds, nil
	}
	ctx, stop := context.WithTimeout(context.Background(), execTimeout)
	defer stop()
	shell := os.Getenv("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	cmd := exec.CommandContext(ctx, shell, "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, fmt.Errorf("the command did not end within %v", execTimeout)
	case err != nil && !errors.As(err, &ended):
		return false, err
	}
	if c.known == nil {
		c.known = map[string]bool{}
	}
	c.known[line] = err == nil
	return err == nil, nil
}
