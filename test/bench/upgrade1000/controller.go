package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/test/bench/kube"
)

// controller is a machine that deployer runs on: an empty home, and the files of the site.
type controller struct {
	program string
	dir     string
	cmd     *exec.Cmd
	output  bytes.Buffer
	done    chan struct{} // is closed when deployer has ended
	err     error         // is set before done is closed
}

// newController creates the machine in dir, which has the files of the site.
func newController(program, dir string) *controller {
	return &controller{program: program, dir: dir, done: make(chan struct{})}
}

// start starts deployer with arguments.
func (c *controller) start(ctx context.Context, args ...string) error {
	c.cmd = exec.CommandContext(ctx, c.program, args...)
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = c.dir, &c.output, &c.output
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(os.Interrupt) }
	c.cmd.Env = append(os.Environ(), "HOME="+c.dir, "XDG_STATE_HOME="+c.state(), "XDG_CACHE_HOME="+filepath.Join(c.dir, "cache"))
	if err := c.cmd.Start(); err != nil {
		return err
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	return nil
}

func (c *controller) state() string { return filepath.Join(c.dir, "state") }

// kill ends deployer with SIGKILL, as a power cut of its machine does.
func (c *controller) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// exitCode returns the exit code of a deployer that has ended.
func (c *controller) exitCode() (int, error) {
	var exit *exec.ExitError
	switch {
	case c.err == nil:
		return 0, nil
	case errors.As(c.err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	}
	return 0, c.err
}

// record returns the log of the only run of this machine.
func (c *controller) record() (*journal.Record, error) {
	logs, err := filepath.Glob(filepath.Join(c.state(), "deployer", "*", "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(logs) != 1 {
		return nil, fmt.Errorf("there are %d logs of runs in %s, want 1", len(logs), c.state())
	}
	return journal.Read(logs[0])
}

// report returns the report of the only run of this machine.
func (c *controller) report() (*engine.Report, error) {
	r, err := c.record()
	if err != nil {
		return nil, err
	}
	if r.Report == nil {
		return nil, errors.New("the log of the run has no report")
	}
	return r.Report, nil
}

// ended returns an error with the output of deployer.
func (c *controller) ended(what string) error {
	return fmt.Errorf("%s: %w\n%s", what, c.err, kube.Tail(c.output.Bytes()))
}
