package ssh

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"deployer/engine/transport"
	"deployer/engine/transport/sshtest"
)

// testAgent is an SSH agent that holds a new key.
type testAgent struct {
	socket  string
	ring    agent.Agent
	private ed25519.PrivateKey
	public  gossh.PublicKey
	clients atomic.Int64

	mu   sync.Mutex
	open []net.Conn
}

func newAgent(t *testing.T) *testAgent {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return agentWith(t, private)
}

func agentWith(t *testing.T, private ed25519.PrivateKey) *testAgent {
	t.Helper()
	signer, err := gossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	a := &testAgent{socket: filepath.Join(t.TempDir(), "agent"), ring: agent.NewKeyring(), private: private, public: signer.PublicKey()}
	if err := a.ring.Add(agent.AddedKey{PrivateKey: &private}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", a.socket)
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
			a.clients.Add(1)
			a.mu.Lock()
			a.open = append(a.open, c)
			a.mu.Unlock()
			go func() { _ = agent.ServeAgent(a.ring, c) }()
		}
	}()
	return a
}

// restart ends all connections.
func (a *testAgent) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.open {
		_ = c.Close()
	}
}

func TestAgentIsSharedByAllConnections(t *testing.T) {
	a := newAgent(t)
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{a.public}})
	d := dialer(t, Options{AgentSocket: a.socket})
	var all sync.WaitGroup
	for range 30 {
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
	if n := a.clients.Load(); n != 1 {
		t.Errorf("the agent had %d clients", n)
	}
}

func TestAgentThatWasRestarted(t *testing.T) {
	a := newAgent(t)
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{a.public}})
	d := dialer(t, Options{AgentSocket: a.socket})
	_ = s.open(d)(t).Close()
	a.restart()
	_ = s.open(d)(t).Close() // asked anew
	if n := a.clients.Load(); n != 2 {
		t.Errorf("the agent had %d clients, one after the other; want 2", n)
	}
}

func TestCertificateInTheAgent(t *testing.T) {
	a, ca := newAgent(t), newKey(t)
	cert := userCertificate(t, a.public, ca)
	if err := a.ring.Add(agent.AddedKey{PrivateKey: &a.private, Certificate: cert}); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{cert}})
	_ = s.open(dialer(t, Options{AgentSocket: a.socket}))(t).Close()
}

// TestCertificateForTheAgentsKey: a certificate in a file is for a key that only the
// agent holds.
func TestCertificateForTheAgentsKey(t *testing.T) {
	a, ca := newAgent(t), newKey(t)
	cert := userCertificate(t, a.public, ca)
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{cert}})
	write(t, s.dir+"/signed", string(gossh.MarshalAuthorizedKey(cert)))
	s.target.AgentSocket, s.target.Certificates = a.socket, []string{s.dir + "/signed"}
	_ = s.open(dialer(t, Options{}))(t).Close()
}

// TestPublicKeyFileNamesTheAgentsKey: a file with the public half selects one of the
// agent's keys.
func TestPublicKeyFileNamesTheAgentsKey(t *testing.T) {
	a := newAgent(t)
	for range 9 {
		_, private, _ := ed25519.GenerateKey(rand.Reader)
		if err := a.ring.Add(agent.AddedKey{PrivateKey: &private}); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{a.public}})
	write(t, s.dir+"/mine.pub", string(gossh.MarshalAuthorizedKey(a.public)))
	s.target.KeysOnly = true
	d := dialer(t, Options{AgentSocket: a.socket})
	for _, name := range []string{"/mine.pub", "/mine"} {
		s.target.Keys = []string{s.dir + name}
		c, err := d.keys.collect(s.target)
		if err != nil || len(c.signers) != 1 {
			t.Fatalf("%s: %d keys, %v", name, len(c.signers), err)
		}
		_ = s.open(d)(t).Close()
	}
	s.target.NoAgent = true
	if _, err := dialer(t, Options{}).Dial(t.Context(), s.target); transport.KindOf(err) != transport.Config || !strings.Contains(err.Error(), "mine.pub is a public key, and no SSH agent holds its private half") {
		t.Fatalf("got %v", err)
	}
}

func TestTooManyKeysIsAdvisedOn(t *testing.T) {
	a := newAgent(t)
	for range 9 {
		_, private, _ := ed25519.GenerateKey(rand.Reader)
		if err := a.ring.Add(agent.AddedKey{PrivateKey: &private}); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{newKey(t).PublicKey()}})
	_, err := dialer(t, Options{AgentSocket: a.socket}).Dial(t.Context(), s.target)
	if transport.KindOf(err) != transport.Auth || !strings.Contains(err.Error(), "there are 11: set ssh.key") {
		t.Fatalf("got %v", err)
	}
}

// deafAgent is an agent that lists one key and then answers nothing.
func deafAgent(t *testing.T) (socket string, public gossh.PublicKey) {
	t.Helper()
	real := newAgent(t)
	socket = filepath.Join(t.TempDir(), "deaf")
	l, err := net.Listen("unix", socket)
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
			to, err := net.Dial("unix", real.socket)
			if err != nil {
				return
			}
			t.Cleanup(func() { _, _ = c.Close(), to.Close() })
			request, length := make([]byte, 5), make([]byte, 4)
			if _, err := io.ReadFull(c, request); err != nil {
				return
			}
			_, _ = to.Write(request)
			if _, err := io.ReadFull(to, length); err != nil {
				return
			}
			_, _ = c.Write(length)
			_, _ = io.CopyN(c, to, int64(binary.BigEndian.Uint32(length)))
		}
	}()
	return socket, real.public
}
