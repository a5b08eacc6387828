// Package transport defines a connection to a host and classifies its errors.
// transport/ssh and transport/local implement it; transport/conformance is the test
// suite of every implementation.
package transport

import (
	"context"
	"io"
	"net"
)

// Conn is a connection to one host. All methods may be called concurrently.
// Their errors are *Error, except those of the context, stdin or stdout.
type Conn interface {
	// Exec runs a command line in the login shell of the user and waits for its end. A
	// non-zero exit is no error. stdin and stdout may be nil. When ctx ends, the command
	// is abandoned and the cause of ctx returned.
	Exec(ctx context.Context, command string, stdin io.Reader, stdout io.Writer) (Exit, error)
	// Start starts a command that runs until it exits or is closed. ctx bounds only the
	// start.
	Start(ctx context.Context, command string) (Process, error)
	// Dial connects to an address as the host sees it.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
	// Lost is closed when the connection has ended for whatever reason.
	Lost() <-chan struct{}
	// Err returns why the connection was lost; nil before that and after Close.
	Err() error
	// Close ends the connection and everything that runs over it.
	Close() error
}

// Terminals is implemented by connections that can run a command on a terminal, which
// some methods to become root need.
type Terminals interface {
	// StartTerminal is Start on a terminal in raw mode: bytes pass unchanged both ways
	// and are not echoed. Standard error is part of the output. The command does not see
	// that Stdin is closed; it gets SIGHUP when the process is closed.
	StartTerminal(ctx context.Context, command string) (Process, error)
}

// Resizer is implemented by processes on a terminal whose size can change.
type Resizer interface {
	// Resize sets the size of the terminal in characters, and notifies its program.
	Resize(rows, columns int) error
}

// Exit is the end of a command.
type Exit struct {
	// Code is the exit status, -1 when the command was killed by a signal.
	Code int
	// Signal names the signal without SIG, if there was one.
	Signal string
	// Stderr is the last StderrLimit bytes of standard error.
	Stderr string
}

// StderrLimit is the number of bytes kept of a command's standard error.
const StderrLimit = 64 << 10

// Process is a running command.
type Process interface {
	// Stdin is closed by the caller at the end of the input.
	Stdin() io.WriteCloser
	// Stdout must be read to its end before Wait returns.
	Stdout() io.Reader
	// Stderr returns the last StderrLimit bytes of standard error so far.
	Stderr() string
	// Wait waits for the exit. Standard error is drained all the time; its last bytes
	// are in the result. Wait may be called any number of times.
	Wait() (Exit, error)
	// Close closes the streams of the command and abandons it. The command sees the end
	// of its standard input; the host decides whether it is killed.
	Close() error
}
