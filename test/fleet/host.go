package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/facts"
	"deployer/engine/remote/fakehost"
	"deployer/engine/transport/sshtest"
)

// Host is one simulated host.
type Host struct {
	Name    string
	Address string // address on loopback; the port is that of the fleet
	Root    string // the directory that stands for /

	fleet    *Fleet
	before   func(ctx context.Context, h *Host, module string)
	other    func(ctx context.Context, c sshtest.Command) int
	answer   func(ctx context.Context, h *Host, c sshtest.Command, serve func(sshtest.Command) int) int
	registry engine.Registry
	config   sshtest.Config

	sessions   sync.WaitGroup // connections, and agents whose controller may be gone
	mu         sync.Mutex
	server     *sshtest.Server // nil when stopped
	listener   net.Listener
	connecting bool
}

// Start makes the host reachable, at the address that it had before.
func (h *Host) Start() error {
	server, err := sshtest.New(h.config)
	if err != nil {
		return fmt.Errorf("starting %s: %w", h.Name, err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(h.Address, h.fleet.port()))
	if err != nil {
		return fmt.Errorf("starting %s: %w", h.Name, err)
	}
	h.mu.Lock()
	h.server, h.listener = server, listener
	h.mu.Unlock()
	h.sessions.Go(func() { h.accept(listener, server) })
	return nil
}

func (h *Host) accept(listener net.Listener, server *sshtest.Server) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		h.arrive()
		h.sessions.Go(func() {
			defer h.greeted()
			time.Sleep(h.fleet.latency) // of the TCP handshake
			l := newDelayedConn(conn, &h.fleet.meter, h.fleet.latency)
			defer l.Close() //nolint:errcheck // l may be closed already
			server.Serve(l)
		})
	}
}

// Stop cuts all connections and refuses new ones. As on a host whose sshd died, a
// step in flight goes on.
func (h *Host) Stop() {
	h.mu.Lock()
	server, listener := h.server, h.listener
	h.server, h.listener = nil, nil
	h.mu.Unlock()
	if server != nil {
		_ = listener.Close()
		_ = server.Close()
	}
}

// Cut closes all connections; new ones are served.
func (h *Host) Cut() { h.reach(func(s *sshtest.Server) { s.Cut() }) }

// Freeze makes the host's network hang, or continue.
func (h *Host) Freeze(frozen bool) { h.reach(func(s *sshtest.Server) { s.Freeze(frozen) }) }

func (h *Host) reach(do func(*sshtest.Server)) {
	h.mu.Lock()
	server := h.server
	h.mu.Unlock()
	if server != nil {
		do(server)
	}
}

// waitForSessions returns when no connection and no step of a stopped host is left.
func (h *Host) waitForSessions() { h.sessions.Wait() }

// exec executes a command as sshd does.
func (h *Host) exec(ctx context.Context, c sshtest.Command) int {
	if !h.enter() {
		return 1
	}
	defer h.sessions.Done()
	serve := func(c sshtest.Command) int { return h.serve(ctx, c) }
	if h.answer != nil {
		return h.answer(ctx, h, c, serve)
	}
	return serve(c)
}

// serve runs the agent of the host in this process.
func (h *Host) serve(ctx context.Context, c sshtest.Command) int {
	opts := agent.ServeOptions{Root: h.Root, Facts: func() engine.Facts {
		found := facts.Read(h.Root)
		found.Hostname = h.Name
		h.greeted()
		return found
	}}
	// A step in flight outlives its connection, as on a real host.
	err := fakehost.Answer(c.Line, c.Stdout, func() error {
		return agent.Serve(context.WithoutCancel(ctx), c.Stdin, c.Stdout, h.registry, opts)
	})
	switch {
	case err == nil:
		return 0
	case errors.Is(err, fakehost.ErrUnknownCommand) && h.other != nil:
		return h.other(ctx, c)
	}
	return 1
}

// enter counts a session, unless the host was stopped before it began.
func (h *Host) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server == nil {
		return false
	}
	h.sessions.Add(1)
	return true
}

// arrive and greeted mark the begin and the end of the time in which a controller
// connects.
func (h *Host) arrive() { h.connects(true) }

func (h *Host) greeted() { h.connects(false) }

func (h *Host) connects(now bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case now && !h.connecting:
		h.fleet.load.begin()
	case !now && h.connecting:
		h.fleet.load.end()
	}
	h.connecting = now
}
