// Package remotetest opens sessions with agents that run in the process of a test.
package remotetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"deployer/engine/remote"
	"deployer/engine/remote/fakehost"
	"deployer/engine/transport"
)

// Attach opens a session with the agent at the other end of rw, such as one that agent.Serve
// serves over a net.Pipe: it is remote.Connect to a host that has the agent. Close of the
// session closes rw, and so does Attach when it fails. o.Binaries is set here.
func Attach(ctx context.Context, rw io.ReadWriteCloser, o remote.Options) (*remote.Session, error) {
	o.Binaries = remote.NewBinaries(noBinaries{})
	return remote.Connect(ctx, &line{rw: rw, host: o.Host, over: make(chan struct{})}, o)
}

// line is a connection whose only command is the agent. line implements transport.Conn, and
// transport.Process for that command.
type line struct {
	rw      io.ReadWriteCloser
	host    string
	answers bytes.Buffer // of the probe, not read yet

	mu      sync.Mutex
	started bool
	closed  bool
	lost    error
	over    chan struct{} // closed when the streams have ended
}

var errNotPossible = errors.New("this connection has one command, the agent")

// Start implements transport.Conn.
func (l *line) Start(_ context.Context, command string) (transport.Process, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started {
		return nil, errNotPossible
	}
	l.started = true
	return process{l}, fakehost.Answer(command, &l.answers, func() error { return nil })
}

// Exec implements transport.Conn.
func (l *line) Exec(context.Context, string, io.Reader, io.Writer) (transport.Exit, error) {
	return transport.Exit{}, errNotPossible
}

// Dial implements transport.Conn.
func (l *line) Dial(context.Context, string, string) (net.Conn, error) { return nil, errNotPossible }

// Lost implements transport.Conn.
func (l *line) Lost() <-chan struct{} { return l.over }

// Err implements transport.Conn.
func (l *line) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Close implements transport.Conn.
func (l *line) Close() error {
	l.end(nil)
	return l.rw.Close()
}

// end notes the end of the streams; only the first one counts.
func (l *line) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	if cause != nil {
		l.lost = &transport.Error{Host: l.host, Stage: transport.StageRun, Kind: transport.Lost, Err: cause}
	}
	close(l.over)
}

// Read reads the answers of the probe, then what the agent sends.
func (l *line) Read(p []byte) (int, error) {
	if l.answers.Len() > 0 {
		return l.answers.Read(p)
	}
	n, err := l.rw.Read(p)
	if err != nil {
		l.end(err)
	}
	return n, err
}

type process struct{ l *line }

// Stdin implements transport.Process.
func (p process) Stdin() io.WriteCloser { return p.l.rw }

// Stdout implements transport.Process.
func (p process) Stdout() io.Reader { return p.l }

// Stderr implements transport.Process.
func (process) Stderr() string { return "" }

// Wait implements transport.Process.
func (p process) Wait() (transport.Exit, error) {
	<-p.l.over
	return transport.Exit{}, nil
}

// Close implements transport.Process.
func (p process) Close() error { return p.l.Close() }

// noBinaries is the source of agents of a host that has the agent.
type noBinaries struct{}

func (noBinaries) AgentBinary(string) ([]byte, error) { return nil, errNotPossible }

func (noBinaries) AgentGzip(string) ([]byte, error) { return nil, errNotPossible }

func (noBinaries) AgentDigest(string) (string, error) { return "digest", nil }
