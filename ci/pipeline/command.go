package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// exitInterrupted is the exit code of deployer when a signal has ended a run between steps.
const exitInterrupted = 130

// commandError is the exit code of a command that failed, with the end of its output.
type commandError struct {
	command string
	code    int
	tail    string
}

// Error implements error.
func (e *commandError) Error() string {
	text := fmt.Sprintf("%s ended with exit code %d", e.command, e.code)
	if e.tail != "" {
		text += ":\n" + e.tail
	}
	return text
}

// errInterrupted is the error of a command that a signal has ended.
var errInterrupted = errors.New("interrupted; the next run continues")

// interrupted reports whether an error is that of an interrupt: of a command that a signal
// has ended, or any error after ctx was cancelled.
func interrupted(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, errInterrupted) || errors.Is(ctx.Err(), context.Canceled))
}

// command is a process that a stage runs.
type command struct {
	program Program
	args    []string
	dir     string
	// deployer is true for this program. The program gets an interrupt alone, without the processes
	// that it has started, and has stepsTime to end; other commands have killDelay.
	deployer bool
}

const (
	// stepsTime is the time that a run of deployer has for its steps in flight. stepsTime is less
	// than TimeoutStopSec of examples/ci/hook/deployer-ci.service.
	stepsTime = 10 * time.Minute
	// killDelay is the time that other commands have to end after SIGTERM. Output of processes
	// that outlive a command is read for the same time.
	killDelay = 5 * time.Second
)

// prepare returns the process of a command, in a group of its own: an interrupt of
// the terminal reaches it through this process, once. When ctx ends, the group gets
// SIGTERM; deployer gets it alone, and ends its steps in flight and the processes
// that it has started for them. When that takes too long, the process gets SIGKILL.
func (c command) prepare(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.program.Path, c.args...)
	cmd.Args[0], cmd.Dir = c.program.Name, c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = killDelay
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if c.deployer {
		cmd.WaitDelay = stepsTime
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	}
	return cmd
}

// execute runs a command, copies its output in whole lines to the output and the log
// of the job, and returns its standard output. A command ends when ctx ends, see
// prepare, and when Stop is closed, see wait. After that no command is started.
func (p *Pipeline) execute(ctx context.Context, j job, c command) (string, error) {
	// The kernel sends the signal of Pdeathsig when the thread ends that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if p.stopped() {
		return "", errInterrupted
	}
	shown := strings.Join(append([]string{c.program.Name}, c.args...), " ")
	j.printf("+ %s\n", shown)
	cmd := c.prepare(ctx)
	cmd.Env = append(p.environ[:len(p.environ):len(p.environ)], j.env...)
	log, err := p.openLog(j.log)
	if err != nil {
		return "", err
	}
	defer log.Close()
	tail := &tailWriter{}
	to := io.MultiWriter(j.out.to, log, tail)
	if c.deployer {
		to = printableWriter{to}
	}
	lines := &lockedWriter{to: to} // of both streams
	output, errorOutput := &maskedWriter{to: lines, secrets: p.secrets}, &maskedWriter{to: lines, secrets: p.secrets}
	var stdout strings.Builder
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&stdout, output), errorOutput
	if err = cmd.Start(); err == nil {
		err = p.wait(cmd, c)
	}
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // processes that have outlived the command
	}
	output.Flush()
	errorOutput.Flush()
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil: // a process in the background may keep the output open
		return stdout.String(), nil
	case p.stopped():
		return stdout.String(), errInterrupted
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return stdout.String(), fmt.Errorf("%s took longer than the timeout of its stage", shown)
	case ctx.Err() != nil:
		return stdout.String(), errInterrupted
	case errors.As(err, &exit):
		if exit.ExitCode() == exitInterrupted {
			return stdout.String(), errInterrupted
		}
		return stdout.String(), &commandError{shown, exit.ExitCode(), tail.String()}
	}
	return stdout.String(), fmt.Errorf("starting %s: %w", shown, err)
}

// wait waits for the end of a command. When Stop is closed meanwhile, deployer gets a second
// signal, at which it leaves its steps in flight as they are; a deployer that has not ended
// after killDelay, and other commands at once, get SIGKILL with their group.
func (p *Pipeline) wait(cmd *exec.Cmd, c command) error {
	ended := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-ended:
			return
		case <-p.Stop:
		}
		if c.deployer {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-ended:
				return
			case <-time.After(killDelay):
			}
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	err := cmd.Wait()
	close(ended)
	watcher.Wait()
	return err
}

// stopped reports whether Stop is closed.
func (p *Pipeline) stopped() bool {
	select {
	case <-p.Stop:
		return true
	default:
		return false
	}
}

// deployer runs a verb of this program in a checkout. inventory is relative to it; empty for
// a verb without inventory.
func (p *Pipeline) deployer(ctx context.Context, j job, dir, inventory string, args ...string) (string, error) {
	if inventory != "" {
		args = append(args[:len(args):len(args)], "-i", filepath.Join(dir, filepath.FromSlash(inventory)))
	}
	return p.execute(ctx, j, command{program: p.Deployer, args: args, dir: dir, deployer: true})
}

// exitCodeOf returns the exit code of a command; 0 when there is none in the error.
func exitCodeOf(err error) int {
	var e *commandError
	if errors.As(err, &e) {
		return e.code
	}
	return 0
}

// openLog opens a log in the directory of reports, to append to the output of this
// run; the first call for a name removes the content of an earlier run. An empty name
// is that of no log.
func (p *Pipeline) openLog(name string) (io.WriteCloser, error) {
	if name == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	if err := os.MkdirAll(p.Reports(), 0o700); err != nil {
		return nil, err
	}
	p.logsMu.Lock()
	defer p.logsMu.Unlock()
	flags := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if !slices.Contains(p.logs, name) {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(filepath.Join(p.Reports(), name), flags|syscall.O_NOFOLLOW, 0o600)
	if err == nil {
		p.logs = append(p.logs, name)
	}
	return f, err
}

// Reports returns the directory of the logs, artifacts and reports of a run.
func (p *Pipeline) Reports() string {
	return cmp.Or(p.ReportsDir, filepath.Join(p.State, "reports", p.commit))
}

// tailWriter keeps the last bytes that are written to it. tailWriter is not safe for concurrent use.
type tailWriter struct{ last []byte }

// maxTail is the number of bytes of a command's output in a message.
const maxTail = 2000

// Write implements io.Writer.
func (w *tailWriter) Write(p []byte) (int, error) {
	w.last = append(w.last, p...)
	if extra := len(w.last) - maxTail; extra > 0 {
		w.last = append(w.last[:0], w.last[extra:]...)
	}
	return len(p), nil
}

// String returns the whole lines that are kept.
func (w *tailWriter) String() string {
	text := string(w.last)
	if len(w.last) == maxTail {
		if _, rest, cut := strings.Cut(text, "\n"); cut {
			text = rest
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, ""))
}
