package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"deployer/engine/transport"
)

// process is a running /bin/sh.
type process struct {
	owner  *Conn
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr transport.Tail
	ended  chan struct{}
	exit   transport.Exit // valid once ended is closed
	err    error          // valid once ended is closed
}

// drainDelay bounds the wait for standard error after the command has ended: a child
// may hold it open.
const drainDelay = time.Second

func startProcess(owner *Conn, command string) (*process, error) {
	p := &process{owner: owner, cmd: exec.Command("/bin/sh", "-c", command), ended: make(chan struct{})}
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = drainDelay
	// A process group of its own, so that Ctrl-C at the terminal reaches deployer and not
	// the agent, which must finish its step.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// os.Pipe and not StdoutPipe, which Wait closes even if it was not read.
	stdout, out, err := os.Pipe()
	if err != nil {
		_ = stdin.Close()
		return nil, err
	}
	p.stdin, p.stdout, p.cmd.Stdout = stdin, stdout, out
	err = p.cmd.Start()
	_ = out.Close()
	if err != nil {
		_ = stdout.Close()
		return nil, fmt.Errorf("starting /bin/sh: %w", err)
	}
	return p, nil
}

// wait runs in a goroutine of its own.
func (p *process) wait() {
	err := p.cmd.Wait()
	p.owner.untrack(p)
	state := p.cmd.ProcessState
	p.exit = transport.Exit{Code: state.ExitCode(), Stderr: p.stderr.String()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		p.exit.Signal = strings.TrimPrefix(unix.SignalName(ws.Signal()), "SIG")
	}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) && !errors.Is(err, exec.ErrWaitDelay) {
		p.err = p.owner.fail(err)
	}
	close(p.ended)
}

func (p *process) Stdin() io.WriteCloser { return p.stdin }
func (p *process) Stdout() io.Reader     { return p.stdout }

func (p *process) Stderr() string { return p.stderr.String() }

func (p *process) Wait() (transport.Exit, error) {
	<-p.ended
	return p.exit, p.err
}

func (p *process) Close() error {
	return errors.Join(ignoreClosed(p.stdin.Close()), ignoreClosed(p.stdout.Close()))
}

// Kill kills the shell and all its children.
func (p *process) Kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
