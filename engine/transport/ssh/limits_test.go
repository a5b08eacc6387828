package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
	"deployer/engine/transport/conformance"
	"deployer/engine/transport/sshtest"
)

func TestConformanceWithOneSessionAtATime(t *testing.T) {
	s := newSite(t, sshtest.Config{MaxSessions: 1})
	d := dialer(t, Options{})
	conformance.Run(t, conformance.Subject{Open: s.open(d), Cut: s.server.Cut})
}

func TestWaitingForASessionEndsWithItsContext(t *testing.T) {
	s := newSite(t, sshtest.Config{MaxSessions: 1})
	c := s.open(dialer(t, Options{}))(t)
	defer c.Close()
	p, err := c.Start(t.Context(), "cat")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, stop := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("long enough"))
	defer stop()
	if _, err := c.Start(ctx, "true"); err == nil || err.Error() != "long enough" {
		t.Fatalf("got %v", err)
	}
}

func TestWhatAServerRefusesIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg   sshtest.Config
		start func(c *Conn, ctx context.Context) error
		text  string
	}{
		"commands": {sshtest.Config{NoCommands: true}, func(c *Conn, ctx context.Context) error {
			_, err := c.Start(ctx, "a secret script")
			return err
		}, "m1: session: the server refuses to run commands for the user"},
		"a terminal": {sshtest.Config{NoTerminal: true}, func(c *Conn, ctx context.Context) error {
			_, err := c.StartTerminal(ctx, "true")
			return err
		}, "PermitTTY"},
		"any session": {sshtest.Config{MaxSessions: -1}, func(c *Conn, ctx context.Context) error {
			_, err := c.Start(ctx, "true")
			return err
		}, "MaxSessions"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, tt.cfg)
			c := s.open(dialer(t, Options{}))(t).(*Conn)
			defer c.Close()
			err := tt.start(c, t.Context())
			if transport.KindOf(err) != transport.Config || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "secret") {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// TestHandshakesAreBounded: many connections to one server never exceed its limit of
// unauthenticated connections, so none is turned away.
func TestHandshakesAreBounded(t *testing.T) {
	s := newSite(t, sshtest.Config{MaxStartups: maxHandshakes})
	d := dialer(t, Options{})
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			c, err := d.Dial(t.Context(), s.target)
			if err != nil {
				t.Error(err)
				return
			}
			_ = c.Close()
		})
	}
	all.Wait()
	// The client may see the end of its handshake before the server does.
	if n := s.server.TurnedAway(); n > maxHandshakes {
		t.Errorf("%d were turned away", n)
	}
}

// TestTurnedAwayIsTriedAgain: a connection that is turned away is retried after a
// delay.
func TestTurnedAwayIsTriedAgain(t *testing.T) {
	s := newSite(t, sshtest.Config{MaxStartups: 1})
	other, err := net.Dial("tcp", s.server.Addr) // holds the only place
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { _ = other.Close() })
	_ = s.open(dialer(t, Options{}))(t).Close()
	if s.server.TurnedAway() == 0 {
		t.Error("nothing was turned away")
	}
}

func TestTurnedAwayForGoodSaysSo(t *testing.T) {
	s := newSite(t, sshtest.Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var tried atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tried.Add(1)
			_ = c.Close()
		}
	}()
	s.target.Port = l.Addr().(*net.TCPAddr).Port
	_, err = dialer(t, Options{}).Dial(t.Context(), s.target)
	if transport.KindOf(err) != transport.Lost || !strings.Contains(err.Error(), "(5 times in a row); see the log of the SSH server") || tried.Load() != maxTurns {
		t.Fatalf("after %d tries: %v", tried.Load(), err)
	}
}

func TestEachStageHasItsDeadline(t *testing.T) {
	frozen := func(t *testing.T, s *site) { s.server.Freeze(true) }
	for name, tt := range map[string]struct {
		change func(t *testing.T, s *site)
		text   string
	}{
		"no banner": {frozen, "m1: handshake: the server sent nothing within 300ms"},
		"no key exchange": {func(t *testing.T, s *site) { s.target.Port = speaker(t, "SSH-2.0-quiet\r\n") },
			"m1: handshake: no end of the key exchange within 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, sshtest.Config{})
			s.target.Timeout = 300 * time.Millisecond
			tt.change(t, s)
			_, err := dialer(t, Options{}).Dial(t.Context(), s.target)
			if transport.KindOf(err) != transport.Timeout || !strings.HasPrefix(err.Error(), tt.text) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// TestAuthenticationHasItsDeadline: an SSH agent that hangs is detected as well.
func TestAuthenticationHasItsDeadline(t *testing.T) {
	socket, public := deafAgent(t)
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{public}})
	s.target.Timeout, s.target.AgentSocket = 300*time.Millisecond, socket
	_, err := dialer(t, Options{}).Dial(t.Context(), s.target)
	if transport.KindOf(err) != transport.Timeout || !strings.HasPrefix(err.Error(), "m1: auth: no end of the authentication within 300ms") {
		t.Fatalf("got %v", err)
	}
}

// speaker listens, sends one text to each client and then nothing more.
func speaker(t testing.TB, words string) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(words))
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func TestProxyCommand(t *testing.T) {
	s := newSite(t, sshtest.Config{})
	listen := s.target.Port
	s.target.Port = 1 // nothing listens there: only the command reaches the server
	s.target.HostKeyAlias = "behind"
	line := strings.Replace(lines(t, s.target.KnownHosts[0])[0], "["+s.target.Address+"]", "behind", 1)
	line = "behind" + line[strings.Index(line, " "):]
	write(t, s.target.KnownHosts[0], line+"\n")
	s.target.ProxyCommand = proxyTo(t, listen)
	d := dialer(t, Options{})
	conformance.Run(t, conformance.Subject{Open: s.open(d), Cut: s.server.Cut})
	for command, text := range map[string]string{
		"echo no way >&2; exit 3": "m1: connect: the ProxyCommand has exited: exit status 3: no way; try the command by hand",
		"true":                    "the ProxyCommand has exited;",
	} {
		s.target.ProxyCommand = "sh -c '" + command + "'"
		_, err := d.Dial(t.Context(), s.target)
		if transport.KindOf(err) != transport.Unreachable || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v", command, err)
		}
	}
}

// proxyTo returns a command that connects its input and output with a port: this test
// program.
func proxyTo(t *testing.T, port int) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return "env PROXY_TO=127.0.0.1:" + strconv.Itoa(port) + " " + self
}

func TestMain(m *testing.M) {
	if to := os.Getenv("PROXY_TO"); to != "" {
		proxy(to)
		return
	}
	os.Exit(m.Run())
}

func proxy(to string) {
	c, err := net.Dial("tcp", to)
	if err != nil {
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		os.Exit(0)
	}()
	_, _ = io.Copy(os.Stdout, c)
}

func TestBastionThatForwardsNothing(t *testing.T) {
	s, hop := newSite(t, sshtest.Config{}), newSite(t, sshtest.Config{NoForwarding: true})
	hop.target.Host = "jump"
	s.target.Bastions = []Target{hop.target}
	_, err := dialer(t, Options{}).Dial(t.Context(), s.target)
	if transport.KindOf(err) != transport.Config || !strings.HasPrefix(err.Error(), "m1: bastion: jump: connect: ") || !strings.Contains(err.Error(), "AllowTcpForwarding") {
		t.Fatalf("got %v", err)
	}
}
