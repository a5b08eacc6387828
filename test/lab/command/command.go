// Package command runs the programs of the machine that a lab is made of (ip,
// podman, ssh) and turns a failure into an error that can be pasted into a shell.
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

// Error is a command that failed: what was run, how it ended, what it said.
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

// leftBehind bounds the wait for a command that was told to stop, and for output
// once it has ended: a child that it left running may hold its standard output
// open for ever.
const leftBehind = 2 * time.Second

// Output runs argv and returns its standard output without the final newline.
// The error is an *Error that carries what the command wrote to standard error.
func Output(ctx context.Context, argv ...string) (string, error) {
	return Input(ctx, nil, argv...)
}

// Input is Output with something on the command's standard input.
func Input(ctx context.Context, stdin io.Reader, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = leftBehind
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it succeeded; only its child goes on
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
