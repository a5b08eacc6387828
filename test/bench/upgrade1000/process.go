package main

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

// process is one running program of the control plane.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // is closed when the program has ended
	err  error         // is set before done is closed
}

// stopTime is the time that a program has to end after SIGTERM, before SIGKILL.
const stopTime = 10 * time.Second

// startProcess starts a program whose output goes to NAME.log in dir.
func startProcess(dir, name, program string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	// Ctrl-C ends the benchmark, which then stops its programs in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop ends the program and waits for its end.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopTime):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// await calls ready until it succeeds. It fails when the program ends, or after limit.
func (p *process) await(ctx context.Context, limit time.Duration, ready func(context.Context) error) error {
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
func (p *process) failed(err error) error {
	text, unread := os.ReadFile(p.log)
	if unread != nil {
		return errors.Join(fmt.Errorf("%s: %w", p.name, err), unread)
	}
	return fmt.Errorf("%s: %w; its log ends with:\n%s", p.name, err, tail(text))
}

// tail returns the end of a text.
func tail(text []byte) []byte { return text[max(0, len(text)-3000):] }
