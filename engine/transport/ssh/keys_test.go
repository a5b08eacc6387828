package ssh

import (
	"crypto/ed25519"
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
	"deployer/engine/transport/sshtest"
)

func TestKeyOfTheAgent(t *testing.T) {
	a := newAgent(t)
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{a.public}})
	d := dialer(t, Options{AgentSocket: a.socket})
	_ = s.open(d)(t).Close() // the key file comes first and is refused
	s.target.NoAgent = true
	if _, err := d.Dial(t.Context(), s.target); transport.KindOf(err) != transport.Auth {
		t.Fatalf("got %v", err)
	}
}

// TestEncryptedKeyThatTheAgentHolds: an encrypted key file whose key the agent holds
// needs no passphrase.
func TestEncryptedKeyThatTheAgentHolds(t *testing.T) {
	private, err := gossh.ParseRawPrivateKeyWithPassphrase(locked, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	a := agentWith(t, *private.(*ed25519.PrivateKey))
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{a.public}})
	write(t, s.target.Keys[0], string(locked))
	_ = s.open(dialer(t, Options{AgentSocket: a.socket}))(t).Close()
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
	key, public := writeKey(t, filepath.Join(home, "id_ed25519"))
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{public}})
	move(t, key, filepath.Join(home, ".ssh", "id_ed25519"))
	s.target.Keys = nil
	_ = s.open(dialer(t, Options{}))(t).Close()
}

// TestCertificateBesideTheKey: a certificate beside the key is offered to the server.
func TestCertificateBesideTheKey(t *testing.T) {
	dir, ca := t.TempDir(), newKey(t)
	path, public := writeKey(t, dir+"/id")
	cert := userCertificate(t, public, ca)
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

func userCertificate(t *testing.T, key gossh.PublicKey, ca gossh.Signer) *gossh.Certificate {
	t.Helper()
	cert := &gossh.Certificate{Key: key, CertType: gossh.UserCert, ValidPrincipals: []string{"root"}, ValidBefore: gossh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestUsualKeysThatCannotBeUsedArePassedOver: an unusable default key does not
// prevent the use of another one, and is mentioned when none works.
func TestUsualKeysThatCannotBeUsedArePassedOver(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	locked, _ := lockedKey(t, filepath.Join(home, "locked"))
	move(t, locked, filepath.Join(home, ".ssh", "id_ed25519"))
	key, public := writeKey(t, filepath.Join(home, "open"))
	move(t, key, filepath.Join(home, ".ssh", "id_ecdsa"))
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{public}})
	s.target.Keys = nil
	_ = s.open(dialer(t, Options{}))(t).Close()

	other := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{newKey(t).PublicKey()}})
	other.target.Keys = nil
	_, err := dialer(t, Options{}).Dial(t.Context(), other.target)
	if transport.KindOf(err) != transport.Auth || !strings.Contains(err.Error(), "as user root: ") || !strings.Contains(err.Error(), "not used: private key "+home+"/.ssh/id_ed25519: it is encrypted") {
		t.Fatalf("got %v", err)
	}
}
