package ssh

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"path/filepath"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"deployer/engine/transport"
	"deployer/engine/transport/sshtest"
)

// keyAgent serves an SSH agent that holds a new key.
func keyAgent(t *testing.T) (socket string, private ed25519.PrivateKey, public gossh.PublicKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: &private}); err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(t.TempDir(), "agent")
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
			go func() { _ = agent.ServeAgent(ring, c) }()
		}
	}()
	signer, err := gossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return socket, private, signer.PublicKey()
}

func TestKeyOfTheAgent(t *testing.T) {
	socket, _, public := keyAgent(t)
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{public}})
	d := dialer(t, Options{AgentSocket: socket})
	_ = s.open(d)(t).Close() // after the key file, which is refused
	s.target.NoAgent = true
	if _, err := d.Dial(t.Context(), s.target); transport.KindOf(err) != transport.Auth {
		t.Fatalf("got %v", err)
	}
}

// An encrypted key file whose key the agent holds needs no passphrase.
func TestEncryptedKeyThatTheAgentHolds(t *testing.T) {
	socket, private, public := keyAgent(t)
	block, err := gossh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{public}})
	write(t, s.target.Keys[0], string(pemOf(block)))
	_ = s.open(dialer(t, Options{AgentSocket: socket}))(t).Close()
}

func TestNoKeyAtAllSaysWhatToDo(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s := newSite(t, sshtest.Config{})
	s.target.Keys = nil
	_, err := dialer(t, Options{AgentSocket: "/nowhere/agent"}).Dial(t.Context(), s.target)
	if transport.KindOf(err) != transport.Config || !strings.Contains(err.Error(), "set ssh.key") || !strings.Contains(err.Error(), "/nowhere/agent") {
		t.Fatalf("got %v", err)
	}
}

func TestUsualKeysAreFound(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	key, public := writeKey(t, filepath.Join(home, "id_ed25519"), "")
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{public}})
	move(t, key, filepath.Join(home, ".ssh", "id_ed25519"))
	s.target.Keys = nil
	_ = s.open(dialer(t, Options{}))(t).Close()
}

// A certificate beside the key is shown to the server.
func TestCertificateBesideTheKey(t *testing.T) {
	ca, err := sshtest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, public := writeKey(t, dir+"/id", "")
	cert := &gossh.Certificate{Key: public, CertType: gossh.UserCert, ValidPrincipals: []string{"root"}, ValidBefore: gossh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/id-cert.pub", string(gossh.MarshalAuthorizedKey(cert)))
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{cert}})
	s.target.Keys = []string{path}
	_ = s.open(dialer(t, Options{}))(t).Close()
	plain := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{public}}) // a server that trusts no authority
	plain.target.Keys = []string{path}
	_ = plain.open(dialer(t, Options{}))(t).Close()
	write(t, dir+"/id-cert.pub", "garbage")
	if _, err := dialer(t, Options{}).Dial(t.Context(), s.target); err == nil || !strings.Contains(err.Error(), "id-cert.pub is not an SSH certificate") {
		t.Fatalf("got %v", err)
	}
}
