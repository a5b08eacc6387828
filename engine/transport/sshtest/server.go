// Package sshtest is an SSH server in the process of a test, or of a fleet of simulated
// hosts. It listens on loopback, or serves given connections.
package sshtest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	gossh "golang.org/x/crypto/ssh"
)

// Config configures a server. The zero value accepts every key and runs commands with
// /bin/sh.
type Config struct {
	// Authorized are the accepted user keys; every key when nil.
	Authorized []gossh.PublicKey
	// Passwords are the passwords of users, accepted beside keys; nil for none. With Asking
	// the server requests them by keyboard-interactive only, with these questions after a
	// welcome text.
	Passwords map[string]string
	Asking    []string
	// HostKeys are the host keys; a new ed25519 key when empty.
	HostKeys []gossh.Signer
	// Exec runs one command; Shell when nil. ctx ends with the connection.
	Exec func(ctx context.Context, c Command) (exit int)
	// Dial opens the connections of direct-tcpip channels; nil means a net.Dialer.
	// NoForwarding refuses them.
	Dial         func(ctx context.Context, network, address string) (net.Conn, error)
	NoForwarding bool
	// Banner is shown before authentication.
	Banner string
	// MaxSessions is the maximum number of sessions of one connection, MaxStartups that of
	// unauthenticated connections, beyond which new ones are closed at once; 0 for no limit,
	// -1 for no session at all.
	MaxSessions, MaxStartups int
	// NoTerminal refuses terminals, NoCommands commands.
	NoTerminal, NoCommands bool
}

// Command is a command requested by a client.
type Command struct {
	User   string
	Line   string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Terminal is true when the client has requested a terminal, with these encoded modes.
	Terminal bool
	Modes    []byte
}

// Server is a running server.
type Server struct {
	// Addr is the listening address.
	Addr     string
	HostKeys []gossh.Signer

	cfg      Config
	ssh      gossh.ServerConfig
	listener net.Listener
	ctx      context.Context
	stop     context.CancelFunc

	starting, turnedAway, guesses atomic.Int64

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	frozen bool
	served int
}

// Start starts a server on a free port of loopback.
func Start(cfg Config) (*Server, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	s.listener, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.Addr = s.listener.Addr().String()
	go s.accept()
	return s, nil
}

// New returns a server that does not listen; see Serve.
func New(cfg Config) (*Server, error) {
	if cfg.Exec == nil {
		cfg.Exec = Shell
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	s := &Server{cfg: cfg, HostKeys: cfg.HostKeys, conns: map[net.Conn]struct{}{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.ssh.PublicKeyCallback = s.authorize
	switch {
	case cfg.Passwords != nil && cfg.Asking == nil:
		s.ssh.PasswordCallback = func(c gossh.ConnMetadata, p []byte) (*gossh.Permissions, error) { return s.admit(c, string(p)) }
	case cfg.Passwords != nil:
		s.ssh.KeyboardInteractiveCallback = s.ask
	}
	if cfg.Banner != "" {
		s.ssh.BannerCallback = func(gossh.ConnMetadata) string { return cfg.Banner }
	}
	if len(s.HostKeys) == 0 {
		key, err := NewKey()
		if err != nil {
			return nil, err
		}
		s.HostKeys = []gossh.Signer{key}
	}
	for _, k := range s.HostKeys {
		s.ssh.AddHostKey(k)
	}
	return s, nil
}

// NewKey returns a new ed25519 key.
func NewKey() (gossh.Signer, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	return gossh.NewSignerFromKey(private)
}

func (s *Server) authorize(_ gossh.ConnMetadata, key gossh.PublicKey) (*gossh.Permissions, error) {
	if s.cfg.Authorized == nil {
		return nil, nil
	}
	for _, a := range s.cfg.Authorized {
		if bytes.Equal(a.Marshal(), key.Marshal()) {
			return nil, nil
		}
	}
	return nil, errors.New("not an authorized key")
}

// admit verifies a password.
func (s *Server) admit(c gossh.ConnMetadata, password string) (*gossh.Permissions, error) {
	s.guesses.Add(1)
	if want, ok := s.cfg.Passwords[c.User()]; ok && password == want {
		return nil, nil
	}
	return nil, errors.New("not the password")
}

// ask requests a password by keyboard-interactive.
func (s *Server) ask(c gossh.ConnMetadata, ask gossh.KeyboardInteractiveChallenge) (*gossh.Permissions, error) {
	if _, err := ask("", "Welcome.", nil, nil); err != nil {
		return nil, err
	}
	answers, err := ask("", "", s.cfg.Asking, make([]bool, len(s.cfg.Asking)))
	if err != nil || len(answers) == 0 {
		return nil, errors.New("no answer")
	}
	return s.admit(c, answers[0])
}

// Guesses returns the number of tried passwords.
func (s *Server) Guesses() int { return int(s.guesses.Load()) }

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		go s.Serve(conn)
	}
}

// Serve serves one client until its connection ends.
func (s *Server) Serve(raw net.Conn) {
	conn := &freezable{Conn: raw, server: s, closed: make(chan struct{})}
	if !s.add(conn) {
		_ = conn.Close()
		return
	}
	defer s.remove(conn)
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if n := s.starting.Add(1); s.cfg.MaxStartups > 0 && n > int64(s.cfg.MaxStartups) {
		s.starting.Add(-1)
		s.turnedAway.Add(1)
		_ = conn.Close()
		return
	}
	sc, channels, requests, err := gossh.NewServerConn(conn, &s.ssh)
	s.starting.Add(-1)
	if err != nil {
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	go gossh.DiscardRequests(requests)
	var sessions atomic.Int64
	for c := range channels {
		switch c.ChannelType() {
		case "session":
			if n := sessions.Add(1); s.cfg.MaxSessions != 0 && n > int64(s.cfg.MaxSessions) {
				sessions.Add(-1)
				_ = c.Reject(gossh.ResourceShortage, "open failed")
				continue
			}
			go func() {
				defer sessions.Add(-1)
				s.session(ctx, sc.User(), c)
			}()
		case "direct-tcpip":
			go s.forward(ctx, c)
		default:
			_ = c.Reject(gossh.UnknownChannelType, "unknown channel type")
		}
	}
}

func (s *Server) add(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[conn] = struct{}{}
	s.served++
	return s.ctx.Err() == nil
}

func (s *Server) remove(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

// Served returns the number of connections so far.
func (s *Server) Served() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// TurnedAway returns the number of connections that were closed because of MaxStartups.
func (s *Server) TurnedAway() int { return int(s.turnedAway.Load()) }

// Cut closes all connections; the server accepts new ones.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

// Close stops listening and closes all connections.
func (s *Server) Close() error {
	s.stop()
	s.Cut()
	if s.listener == nil {
		return nil
	}
	return s.listener.Close()
}
