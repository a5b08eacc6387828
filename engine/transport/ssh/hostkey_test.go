package ssh

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/skeema/knownhosts"
	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
	"deployer/engine/transport/sshtest"
)

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestAcceptNewRecordsOnceAndThenIsStrict(t *testing.T) {
	s := newSite(t, sshtest.Config{})
	write(t, s.target.KnownHosts[0], "other ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqaGTYTIzM8NxnX1OHhLBqzVjyNCYfKPKTYZ7A8jsoF") // without a line end
	s.target.HostKeys = AcceptNew
	var all sync.WaitGroup
	for range 2 { // as two processes do
		d := dialer(t, Options{})
		for range 4 {
			all.Go(func() {
				c, err := d.Dial(t.Context(), s.target)
				if err != nil {
					t.Errorf("dialing: %v", err)
					return
				}
				_ = c.Close()
			})
		}
	}
	all.Wait()
	got := lines(t, s.target.KnownHosts[0])
	want := knownhosts.Line([]string{s.server.Addr}, s.server.HostKeys[0].PublicKey())
	if len(got) != 2 || got[1] != want {
		t.Fatalf("recorded %q, want once %q", got, want)
	}
	s.target.HostKeys = Strict
	_ = s.open(dialer(t, Options{}))(t).Close()
}

// TestAcceptNewSeesWhatOthersRecorded: another process records a different key for
// the host during the handshake.
func TestAcceptNewSeesWhatOthersRecorded(t *testing.T) {
	s := newSite(t, sshtest.Config{})
	other, err := sshtest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s.target.HostKeys = AcceptNew
	write(t, s.target.KnownHosts[0], "")
	d := dialer(t, Options{})
	if _, err := d.known.open(s.target); err != nil { // the dialer has read the empty file
		t.Fatal(err)
	}
	s.know(t, other)
	if _, err := d.Dial(t.Context(), s.target); transport.KindOf(err) != transport.HostKeyChanged {
		t.Fatalf("got %v", err)
	}
}

func TestAcceptNewThatCannotRecordRefuses(t *testing.T) {
	s := newSite(t, sshtest.Config{})
	s.target.HostKeys = AcceptNew
	s.target.KnownHosts = []string{"/proc/none/known_hosts"}
	_, err := dialer(t, Options{}).Dial(t.Context(), s.target)
	if transport.KindOf(err) != transport.Config || !strings.Contains(err.Error(), "recording the host's key") {
		t.Fatalf("got %v", err)
	}
}

// TestKnownKeyIsAskedFor: the client requests the known one of a host's two keys,
// because the other one would look like a changed key.
func TestKnownKeyIsAskedFor(t *testing.T) {
	ed, err := sshtest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := gossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, sshtest.Config{HostKeys: []gossh.Signer{ed, ec}})
	for _, key := range []gossh.Signer{ed, ec} {
		s.know(t, key)
		_ = s.open(dialer(t, Options{}))(t).Close()
	}
	// The same holds for a dialer that has just accepted the key.
	s.know(t)
	s.target.HostKeys = AcceptNew
	d := dialer(t, Options{})
	for range 2 {
		_ = s.open(d)(t).Close()
	}
}

// TestHostsBehindOneAddress: the key of a host is looked up by address and port, so that
// hosts behind one address have a key each, and none passes for another.
func TestHostsBehindOneAddress(t *testing.T) {
	one, other := newSite(t, sshtest.Config{}), newSite(t, sshtest.Config{})
	other.target.KnownHosts = one.target.KnownHosts
	write(t, one.target.KnownHosts[0], "")
	for _, s := range []*site{one, other} {
		s.target.HostKeys = AcceptNew
		_ = s.open(dialer(t, Options{}))(t).Close()
		s.target.HostKeys = Strict
	}
	if got := lines(t, one.target.KnownHosts[0]); len(got) != 2 {
		t.Fatalf("recorded %q, want a line for each port", got)
	}
	_ = one.open(dialer(t, Options{}))(t).Close()
	_ = other.open(dialer(t, Options{}))(t).Close()

	write(t, one.target.KnownHosts[0], knownhosts.Line([]string{other.server.Addr}, one.server.HostKeys[0].PublicKey()))
	if _, err := dialer(t, Options{}).Dial(t.Context(), other.target); err == nil {
		t.Error("the key of one port was accepted at another")
	}
}
