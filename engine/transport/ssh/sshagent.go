package ssh

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Timeouts of an SSH agent: for its list of keys, and for a signature, before which the
// agent may ask its user.
const (
	listPatience = 10 * time.Second
	signPatience = 30 * time.Second
)

// agents holds the connections to SSH agents. All connections of a Dialer share one
// to each socket, with one request at a time: an agent is one process with one
// thread, and cannot serve a connection for each of a thousand hosts.
type agents struct {
	socket string // default of targets without one

	mu sync.Mutex
	of map[string]*sshAgent
}

// held returns the keys that the target's agent holds.
func (a *agents) held(t Target) ([]gossh.Signer, error) {
	socket := a.socketOf(t)
	if socket == "" {
		return nil, nil
	}
	a.mu.Lock()
	if a.of == nil {
		a.of = map[string]*sshAgent{}
	}
	of := a.of[socket]
	if of == nil {
		of = &sshAgent{}
		a.of[socket] = of
	}
	a.mu.Unlock()
	signers, err := of.signers(socket)
	if err != nil {
		return nil, fmt.Errorf("asking the SSH agent at %s: %w", socket, err)
	}
	return signers, nil
}

// socketOf returns the socket of the target's agent; empty without one.
func (a *agents) socketOf(t Target) string {
	if t.NoAgent {
		return ""
	}
	return cmp.Or(t.AgentSocket, a.socket)
}

// lost reports whether the connection to the target's agent has ended since it was
// used, for example because the agent was restarted.
func (a *agents) lost(t Target) bool {
	a.mu.Lock()
	of := a.of[a.socketOf(t)]
	a.mu.Unlock()
	return of != nil && of.lost()
}

func (a *agents) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, of := range a.of {
		errs = append(errs, of.close())
	}
	return errors.Join(errs...)
}

// sshAgent is one agent. Its keys are read once, and again after its connection has
// failed.
type sshAgent struct {
	mu    sync.Mutex
	conn  *deadlineConn
	keys  []gossh.Signer
	err   error
	asked bool
}

func (a *sshAgent) signers(socket string) ([]gossh.Signer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked && !a.gone() {
		return a.keys, a.err
	}
	a.asked, a.keys = true, nil
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
	raw, err := net.DialTimeout("unix", socket, listPatience)
	if err == nil {
		a.conn = &deadlineConn{Conn: raw}
		a.conn.limit.Store(int64(listPatience))
		a.keys, err = agent.NewClient(a.conn).Signers()
		a.conn.limit.Store(int64(signPatience))
	}
	a.err = err
	return a.keys, a.err
}

func (a *sshAgent) lost() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone()
}

func (a *sshAgent) gone() bool { return a.conn != nil && a.conn.broken.Load() }

func (a *sshAgent) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn == nil {
		return nil
	}
	return a.conn.Close()
}

// deadlineConn is a connection with a timeout for each answer; after a timeout every
// request fails.
type deadlineConn struct {
	net.Conn
	limit  atomic.Int64 // timeout of the next answer, in nanoseconds
	broken atomic.Bool
}

// Write sends a request.
func (p *deadlineConn) Write(b []byte) (int, error) {
	if err := p.SetDeadline(time.Now().Add(time.Duration(p.limit.Load()))); err != nil {
		return 0, p.spoiled(err)
	}
	n, err := p.Conn.Write(b)
	return n, p.spoiled(err)
}

func (p *deadlineConn) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	return n, p.spoiled(err)
}

// spoiled records an error: bytes read afterwards might belong to an earlier
// request.
func (p *deadlineConn) spoiled(err error) error {
	if err != nil {
		p.broken.Store(true)
		_ = p.Close()
	}
	return err
}
