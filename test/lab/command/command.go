// Package command runs the programs of a lab's machine (ip, podman, ssh). Its errors
// contain the command line in a form that a shell accepts.
package command

import (
	"bytes"
	"context"
	"deployer/shellquote"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Error is a failed command: the command line, the exit status and the error output.
type Error struct {
	Argv   []string
	Stderr string
	Err    error // usually an *exec.ExitError
}

func (e *Error) Error() string {
	msg := fmt.Sprintf("%s: %v", shellquote.Line(e.Argv), e.Err)
	if tail := strings.TrimSpace(e.Stderr); tail != "" {
		msg += ": " + tail
	}
	return msg
}

func (e *Error) Unwrap() error { return e.Err }

// leftBehind is the maximum wait for a command that was told to stop, and for output
// after its end: a child process may keep its standard output open without end.
const leftBehind = 2 * time.Second

// Output runs argv and returns its standard output without the final newline.
// The error is an *Error with the command's standard error.
func Output(ctx context.Context, argv ...string) (string, error) {
	return Input(ctx, nil, argv...)
}

// Input works like Output, with data on the command's standard input.
func Input(ctx context.Context, stdin io.Reader, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = leftBehind
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the command succeeded; only its child still runs
	}
	out := strings.TrimRight(stdout.String(), "\n")
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return out, &Error{Argv: argv, Stderr: stderr.String(), Err: err}
	}
	return out, nil
}
