package ssh

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	_ "embed" // of a key
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skeema/knownhosts"
	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
	"deployer/engine/transport/conformance"
	"deployer/engine/transport/sshtest"
)

// site is a server, a key that it accepts, and a known_hosts file with its key.
type site struct {
	server *sshtest.Server
	target Target
	dir    string
}

func newSite(t *testing.T, cfg sshtest.Config) *site {
	t.Helper()
	s := &site{dir: t.TempDir()}
	key, public := writeKey(t, filepath.Join(s.dir, "id"))
	if cfg.Authorized == nil {
		cfg.Authorized = []gossh.PublicKey{public}
	}
	server, err := sshtest.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	s.server = server
	s.target = targetOf(t, server.Addr)
	s.target.Keys = []string{key}
	s.target.KnownHosts = []string{filepath.Join(s.dir, "known_hosts")}
	s.know(t, server.HostKeys...)
	return s
}

func targetOf(t *testing.T, addr string) Target {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return Target{Host: "m1", Address: host, Port: n, Timeout: 5 * time.Second}
}

// know rewrites the known_hosts file.
func (s *site) know(t *testing.T, keys ...gossh.Signer) {
	t.Helper()
	var lines []string
	for _, k := range keys {
		lines = append(lines, knownhosts.Line([]string{s.server.Addr}, k.PublicKey()))
	}
	write(t, s.target.KnownHosts[0], strings.Join(lines, "\n"))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// locked is an encrypted key, its passphrase "secret". ssh-keygen made it with one
// round: with the usual number the race detector needs seconds for each use.
//
//go:embed testdata/locked
var locked []byte

func lockedKey(t *testing.T, path string) (string, gossh.PublicKey) {
	t.Helper()
	write(t, path, string(locked))
	signer, err := gossh.ParsePrivateKeyWithPassphrase(locked, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	return path, signer.PublicKey()
}

func writeKey(t *testing.T, path string) (string, gossh.PublicKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(pemOf(block)))
	key, err := gossh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return path, key
}

func pemOf(block *pem.Block) []byte { return pem.EncodeToMemory(block) }

func dialer(t *testing.T, opts Options) *Dialer {
	t.Helper()
	d := NewDialer(opts)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestConformance(t *testing.T) {
	s := newSite(t, sshtest.Config{})
	d := dialer(t, Options{})
	conformance.Run(t, conformance.Subject{Open: s.open(d), Cut: s.server.Cut})
}

func (s *site) open(d *Dialer) func(t *testing.T) transport.Conn {
	return func(t *testing.T) transport.Conn {
		t.Helper()
		c, err := d.Dial(t.Context(), s.target)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func TestConformanceThroughTwoBastions(t *testing.T) {
	s, outer, inner := newSite(t, sshtest.Config{}), newSite(t, sshtest.Config{}), newSite(t, sshtest.Config{})
	s.target.Bastions = []Target{outer.target, inner.target}
	d := dialer(t, Options{})
	conformance.Run(t, conformance.Subject{Open: s.open(d), Cut: s.server.Cut})
	if n, m := outer.server.Served(), inner.server.Served(); n != 1 || m != 1 {
		t.Fatalf("the bastions served %d and %d connections, want one each", n, m)
	}
}

// TestLostBastionIsDialedAgain: a bastion that was lost is dialed again for the next
// host.
func TestLostBastionIsDialedAgain(t *testing.T) {
	s, hop := newSite(t, sshtest.Config{}), newSite(t, sshtest.Config{})
	s.target.Bastions = []Target{hop.target}
	d := dialer(t, Options{})
	first := s.open(d)(t)
	hop.server.Cut()
	<-first.Lost()
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := d.Dial(t.Context(), s.target)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestFailuresSayWhatToDo(t *testing.T) {
	other, err := sshtest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	tests := map[string]struct {
		change func(t *testing.T, s *site)
		kind   transport.Kind
		stage  transport.Stage
		text   string
		retry  bool
	}{
		"nothing listens": {func(t *testing.T, s *site) { _ = s.server.Close() },
			transport.Unreachable, transport.StageConnect, "connection refused; check that the host is up", true},
		"unknown host name": {func(t *testing.T, s *site) { s.target.Address = "nowhere.invalid" },
			transport.Unreachable, transport.StageConnect, "nowhere.invalid", true},
		"silent server": {func(t *testing.T, s *site) {
			s.target.Timeout = 200 * time.Millisecond
			s.target.Port = silent.Addr().(*net.TCPAddr).Port
		}, transport.Timeout, transport.StageHandshake, "within 200ms", true},
		"wrong key": {func(t *testing.T, s *site) { s.target.Keys[0], _ = writeKey(t, s.dir+"/wrong") },
			transport.Auth, transport.StageAuth, "check ssh.user and ssh.key", false},
		"no key file": {func(t *testing.T, s *site) { s.target.Keys[0] = s.dir + "/missing" },
			transport.Config, transport.StageSettings, "/missing: no such file", false},
		"invalid key file": {func(t *testing.T, s *site) { write(t, s.target.Keys[0], "hello") },
			transport.Config, transport.StageSettings, "/id: ssh: no key found", false},
		"encrypted key without a terminal": {func(t *testing.T, s *site) { _, _ = lockedKey(t, s.target.Keys[0]) },
			transport.Config, transport.StageSettings, "ssh-add", false},
		"unknown host": {func(t *testing.T, s *site) { s.know(t) },
			transport.HostKeyUnknown, transport.StageHandshake, "accept-new", false},
		"no known_hosts file": {func(t *testing.T, s *site) { _ = os.Remove(s.target.KnownHosts[0]) },
			transport.HostKeyUnknown, transport.StageHandshake, "known_hosts", false},
		"changed key": {func(t *testing.T, s *site) { s.know(t, other) },
			transport.HostKeyChanged, transport.StageHandshake, "known_hosts:1 has SHA256:", false},
		"changed key and accept-new": {func(t *testing.T, s *site) { s.know(t, other); s.target.HostKeys = AcceptNew },
			transport.HostKeyChanged, transport.StageHandshake, "known_hosts:1 has SHA256:", false},
		"invalid known_hosts": {func(t *testing.T, s *site) { write(t, s.target.KnownHosts[0], "x ssh-ed25519 !!!\n") },
			transport.Config, transport.StageSettings, "known_hosts:1", false},
		"dead bastion": {func(t *testing.T, s *site) {
			hop := s.target
			hop.Host, hop.Port = "", 1
			s.target.Bastions = []Target{hop}
		}, transport.Unreachable, transport.StageBastion, "m1: bastion: bastion 127.0.0.1:1: connect: ", true},
		"bastion with unknown key": {func(t *testing.T, s *site) {
			hop := s.target
			hop.KnownHosts = []string{s.dir + "/empty"}
			s.target.Bastions = []Target{hop}
		}, transport.HostKeyUnknown, transport.StageBastion, "accept-new", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, sshtest.Config{})
			tt.change(t, s)
			_, err := dialer(t, Options{}).Dial(t.Context(), s.target)
			var e *transport.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if e.Kind != tt.kind || e.Stage != tt.stage || e.Retryable() != tt.retry || e.Host != "m1" {
				t.Errorf("got kind %q, stage %q, retryable %v: %v", e.Kind, e.Stage, e.Retryable(), err)
			}
			if !strings.Contains(err.Error(), tt.text) || !strings.HasPrefix(err.Error(), "m1: ") {
				t.Errorf("got %q, want it to contain %q", err, tt.text)
			}
		})
	}
}

func TestEncryptedKeyAsksOnce(t *testing.T) {
	dir := t.TempDir()
	key, public := lockedKey(t, dir+"/locked")
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{public}})
	s.target.Keys = []string{key}
	asked := 0
	d := dialer(t, Options{Passphrase: func(string, int) ([]byte, error) {
		asked++
		return []byte("secret"), nil
	}})
	for range 3 {
		_ = s.open(d)(t).Close()
	}
	if asked != 1 {
		t.Fatalf("asked %d times", asked)
	}
}

func TestHungNetworkIsNoticed(t *testing.T) {
	s := newSite(t, sshtest.Config{})
	d := dialer(t, Options{KeepaliveInterval: 50 * time.Millisecond, IdleTimeout: 1500 * time.Millisecond})
	c := s.open(d)(t)
	time.Sleep(2 * time.Second) // idle, but answering: must not count as lost
	if c.Err() != nil {
		t.Fatalf("lost while the server answered: %v", c.Err())
	}
	s.server.Freeze(true)
	defer s.server.Freeze(false)
	select {
	case <-c.Lost():
	case <-time.After(10 * time.Second):
		t.Fatal("not noticed")
	}
	if err := c.Err(); transport.KindOf(err) != transport.Lost || !strings.Contains(err.Error(), "nothing was received") {
		t.Fatalf("got %v", err)
	}
}

func TestForwardingForbiddenSaysSo(t *testing.T) {
	s := newSite(t, sshtest.Config{NoForwarding: true})
	c := s.open(dialer(t, Options{}))(t)
	_, err := c.Dial(t.Context(), "tcp", "127.0.0.1:1")
	if transport.KindOf(err) != transport.Config || !strings.Contains(err.Error(), "AllowTcpForwarding") {
		t.Fatalf("got %v", err)
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	s := newSite(t, sshtest.Config{})
	s.server.Freeze(true)
	cause := errors.New("interrupted")
	ctx, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { stop(cause) })
	if _, err := dialer(t, Options{}).Dial(ctx, s.target); !errors.Is(err, cause) {
		t.Fatalf("got %v", err)
	}
}
