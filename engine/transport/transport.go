// Package transport says what the engine needs of a way to reach a host, and
// classifies how that fails. transport/ssh and transport/local implement it;
// transport/conformance is the suite that every implementation passes.
package transport

import (
	"context"
	"io"
	"net"
)

// Conn is a connection to one host. All methods may be called concurrently.
// Their errors are *Error, except what the context, stdin or stdout brought.
type Conn interface {
	// Exec runs a command line by the login shell of the user and waits for
	// it. A non-zero exit is not an error. stdin and stdout may be nil. When
	// ctx ends the command is abandoned and the cause of ctx returned.
	Exec(ctx context.Context, command string, stdin io.Reader, stdout io.Writer) (Exit, error)
	// Start starts a command that lives until it ends by itself or is closed.
	// ctx bounds the start only.
	Start(ctx context.Context, command string) (Process, error)
	// Dial connects to an address as the host sees it.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
	// Lost is closed when the connection has ended for whatever reason.
	Lost() <-chan struct{}
	// Err is why the connection was lost: nil before that and after Close.
	Err() error
	// Close ends the connection and everything that runs over it.
	Close() error
}

// Terminals is implemented by connections that can give a command a terminal,
// which some ways to become root insist on.
type Terminals interface {
	// StartTerminal is Start on a terminal. It is raw: bytes pass unchanged both
	// ways and none is echoed. What the command writes to the standard error
	// comes with its output. Closing Stdin says nothing to the command; the end
	// of the process does, by SIGHUP.
	StartTerminal(ctx context.Context, command string) (Process, error)
}

// Exit is how a command ended.
type Exit struct {
	// Code is the exit status, -1 when the command was killed by a signal.
	Code int
	// Signal names the signal without SIG, if there was one.
	Signal string
	// Stderr is what it wrote there, the last StderrLimit bytes.
	Stderr string
}

// StderrLimit is how many bytes of a command's standard error are kept.
const StderrLimit = 64 << 10

// Process is a running command.
type Process interface {
	// Stdin is closed to say that nothing more comes.
	Stdin() io.WriteCloser
	// Stdout must be read to its end before Wait returns.
	Stdout() io.Reader
	// Stderr returns what came on the standard error so far, the last
	// StderrLimit bytes of it.
	Stderr() string
	// Wait waits for the end. Standard error is drained all the time and its
	// end is in the result. Wait may be called any number of times.
	Wait() (Exit, error)
	// Close abandons the command: its streams are closed. Whether it is killed
	// is up to the host; it sees the end of its standard input.
	Close() error
}
