package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"deployer/engine/remote"
	"deployer/runs/debug"
	"deployer/runs/target"
)

// debugShell connects this terminal with the shell of a session on a host, until the shell
// ends. The terminal is in raw mode in between: an interrupt of the user reaches the shell.
func debugShell(ctx context.Context, connector *target.Connector, host string, s debug.Session, in *os.File, out io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	program, err := connector.StartAsRoot(ctx, host, s.Shell(cmp.Or(os.Getenv("TERM"), "xterm")), true)
	if err != nil {
		return err
	}
	defer program.Close()
	defer context.AfterFunc(ctx, func() { _ = program.Close() })() // the host ends the session
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("setting the terminal to raw mode: %w", err)
	}
	defer func() { _ = term.Restore(int(in.Fd()), before) }()
	defer followSize(in, program)()
	// The copy ends with the program: a read of the terminal cannot be cancelled.
	go func() { _, _ = io.Copy(program.Stdin(), in) }()
	_, err = io.Copy(out, program.Stdout())
	if ctx.Err() != nil {
		return exitSilently(exitInterrupted)
	}
	if err != nil {
		return err
	}
	exit, err := program.Wait()
	if err == nil && exit.Code == debugStartFailed {
		err = errors.New("the container did not start; the host's message is above")
	}
	return err
}

// debugStartFailed is the exit code of the host's script when the image could not be imported.
const debugStartFailed = 125

// followSize gives the program the size of a terminal, now and after each change, until the
// returned function is called.
func followSize(terminal *os.File, program *remote.RootProgram) (stop func()) {
	resize := func() {
		if columns, rows, err := term.GetSize(int(terminal.Fd())); err == nil {
			_ = program.Resize(rows, columns) // the shell works with a wrong size, too
		}
	}
	resize()
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-changed:
				resize()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(done)
	}
}
