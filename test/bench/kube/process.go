package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Process is one running program.
type Process struct {
	Name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // is closed when the program has ended
	err  error         // is set before done is closed
}

// stopTime is the time that a program has to end after SIGTERM, before SIGKILL: a pod has as much.
const stopTime = 30 * time.Second

// Start starts a program in dir, whose output goes to NAME.log there.
func Start(dir, name, program string, args ...string) (*Process, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	return StartCommand(cmd, dir, name)
}

// StartCommand starts a command whose output goes to NAME.log in dir. The command leads a process
// group of its own: Ctrl-C ends the benchmark, which then stops its programs in order.
func StartCommand(cmd *exec.Cmd, dir, name string) (*Process, error) {
	p := &Process{Name: name, cmd: cmd, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Group returns the id of the process group of the program and its children.
func (p *Process) Group() int { return p.cmd.Process.Pid }

// Ended returns an error with the end of the log when the program has ended, and nil while it runs.
func (p *Process) Ended() error {
	select {
	case <-p.done:
		return p.failed(fmt.Errorf("it has ended: %w", p.err))
	default:
		return nil
	}
}

// Stop ends the program with SIGTERM, or SIGKILL after 30 seconds, and waits for its end.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopTime):
		p.Kill()
	}
}

// Kill ends the program and its children at once, as a host that loses its power, and waits for its end.
func (p *Process) Kill() {
	_ = syscall.Kill(-p.Group(), syscall.SIGKILL)
	<-p.done
}

// Await calls ready until it succeeds. It fails when the program ends, or after limit.
func (p *Process) Await(ctx context.Context, limit time.Duration, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.failed(errors.Join(errors.New("it has ended"), p.err))
		case <-ctx.Done():
			return p.failed(fmt.Errorf("not ready after %s: %w", limit, err))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// failed returns err with the end of the program's log.
func (p *Process) failed(err error) error {
	text, unread := os.ReadFile(p.log)
	if unread != nil {
		return errors.Join(fmt.Errorf("%s: %w", p.Name, err), unread)
	}
	return fmt.Errorf("%s: %w; its log ends with:\n%s", p.Name, err, Tail(text))
}

// Tail returns the last 3000 bytes of a text.
func Tail(text []byte) []byte { return text[max(0, len(text)-3000):] }
