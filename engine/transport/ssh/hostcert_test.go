package ssh

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skeema/knownhosts"
	gossh "golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"deployer/engine/transport"
	"deployer/engine/transport/sshtest"
)

func newKey(t *testing.T) gossh.Signer {
	t.Helper()
	key, err := sshtest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t *testing.T) gossh.Signer {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key, err := gossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// certified returns a host key with a certificate of the authority.
func certified(t *testing.T, key, authority gossh.Signer, change func(*gossh.Certificate)) gossh.Signer {
	t.Helper()
	cert := &gossh.Certificate{Key: key.PublicKey(), CertType: gossh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: gossh.CertTimeInfinity}
	if change != nil {
		change(cert)
	}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	signer, err := gossh.NewCertSigner(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func entry(names string, key gossh.PublicKey) string {
	return fmt.Sprintf("%s %s %s\n", names, key.Type(), base64.StdEncoding.EncodeToString(key.Marshal()))
}

func TestHostCertificates(t *testing.T) {
	ca, other, key, rsa := newKey(t), newKey(t), newKey(t), rsaKey(t)
	good := certified(t, key, ca, nil)
	plain := func(s *site) string { return entry(knownhosts.Normalize(s.server.Addr), key.PublicKey()) }
	for name, tt := range map[string]struct {
		shows  []gossh.Signer
		known  func(s *site) string
		policy Policy
		kind   transport.Kind // empty when the connection must succeed
		text   string
	}{
		"signed by the authority":                      {shows: []gossh.Signer{good}, known: authority("*", ca)},
		"signed by an authority for this port":         {shows: []gossh.Signer{good}, known: func(s *site) string { return authority("["+s.target.Address+"]:*", ca)(s) }, kind: transport.HostKeyUnknown, text: "is not in"},
		"an RSA key, an ed25519 authority":             {shows: []gossh.Signer{certified(t, rsa, ca, nil)}, known: authority("127.0.0.*", ca)},
		"an ed25519 key, an RSA authority":             {shows: []gossh.Signer{certified(t, key, rsa, nil)}, known: authority("127.0.0.*", rsa)},
		"the plain key is known":                       {shows: []gossh.Signer{good}, known: plain},
		"plain key and another authority":              {shows: []gossh.Signer{key, good}, known: func(s *site) string { return authority("*", other)(s) + plain(s) }},
		"plain key, an authority is known":             {shows: []gossh.Signer{key}, known: authority("*", ca), kind: transport.HostKeyUnknown, text: "is not in"},
		"plain key, an authority is known, accept-new": {shows: []gossh.Signer{key}, known: authority("*", ca), policy: AcceptNew},
		"signed by an unknown authority, accept-new":   {shows: []gossh.Signer{good}, known: authority("*", other), policy: AcceptNew},
		"signed by an unknown authority":               {shows: []gossh.Signer{good}, known: authority("*", other), kind: transport.HostKeyUnknown, text: "is not in"},
		"no authority known":                           {shows: []gossh.Signer{good}, known: func(*site) string { return "" }, kind: transport.HostKeyUnknown, text: "ssh-ed25519 SHA256:"},
		"authority's key as host key":                  {shows: []gossh.Signer{ca}, known: authority("*", ca), kind: transport.HostKeyUnknown, text: "is not in"},
		"for another name": {shows: []gossh.Signer{certified(t, key, ca, func(c *gossh.Certificate) { c.ValidPrincipals = []string{"m2"} })}, known: authority("*", ca),
			kind: transport.HostKeyUnknown, text: "has an invalid certificate"},
		"expired": {shows: []gossh.Signer{certified(t, key, ca, func(c *gossh.Certificate) { c.ValidBefore = uint64(time.Now().Unix() - 10) })}, known: authority("*", ca), policy: AcceptNew,
			kind: transport.HostKeyUnknown, text: "cert has expired; sign the host's certificate again"},
		"a user's certificate": {shows: []gossh.Signer{certified(t, key, ca, func(c *gossh.Certificate) { c.CertType = gossh.UserCert })}, known: authority("*", ca),
			kind: transport.HostKeyUnknown, text: "has an invalid certificate"},
		"a revoked key": {shows: []gossh.Signer{key}, known: func(s *site) string { return plain(s) + "@revoked * " + entry("", key.PublicKey())[1:] },
			policy: AcceptNew, kind: transport.HostKeyChanged, text: "known_hosts:2 marks as revoked; give the host a new key"},
		"a certificate of a revoked authority": {shows: []gossh.Signer{good}, known: func(s *site) string { return authority("*", ca)(s) + "@revoked * " + entry("", ca.PublicKey())[1:] },
			policy: AcceptNew, kind: transport.HostKeyUnknown, text: "revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, sshtest.Config{HostKeys: tt.shows})
			write(t, s.target.KnownHosts[0], tt.known(s))
			s.target.HostKeys = tt.policy
			c, err := dialer(t, Options{}).Dial(t.Context(), s.target)
			if err == nil {
				_ = c.Close()
			}
			if transport.KindOf(err) != tt.kind || err != nil && (!strings.Contains(err.Error(), tt.text) || !strings.HasPrefix(err.Error(), "m1: handshake: ")) {
				t.Fatalf("got %s %v, want %s with %q", transport.KindOf(err), err, tt.kind, tt.text)
			}
		})
	}
}

func authority(names string, ca gossh.Signer) func(*site) string {
	return func(*site) string { return "@cert-authority " + entry(names, ca.PublicKey()) }
}

// TestAnotherTypeOfKeyIsAChangedKey: a host that no longer has the known type of key
// shows its present key; this is a changed key and not a failure to agree on
// algorithms.
func TestAnotherTypeOfKeyIsAChangedKey(t *testing.T) {
	s := newSite(t, sshtest.Config{HostKeys: []gossh.Signer{rsaKey(t)}})
	s.know(t, newKey(t))
	_, err := dialer(t, Options{}).Dial(t.Context(), s.target)
	if transport.KindOf(err) != transport.HostKeyChanged || !strings.Contains(err.Error(), "has the key ssh-rsa") {
		t.Fatalf("got %v", err)
	}
}

// TestAlgorithmsBeginWithWhatIsKnown: the known types come first, so that the server
// shows the key that can be verified.
func TestAlgorithmsBeginWithWhatIsKnown(t *testing.T) {
	ed, rsa, ca := newKey(t).PublicKey(), rsaKey(t).PublicKey(), newKey(t).PublicKey()
	for name, tt := range map[string]struct {
		host knownHost
		want []string
	}{
		"no known keys":   {knownHost{}, []string{gossh.KeyAlgoED25519, gossh.KeyAlgoECDSA256}},
		"RSA":             {knownHost{keys: []gossh.PublicKey{rsa}}, []string{gossh.KeyAlgoRSASHA512, gossh.KeyAlgoRSASHA256, gossh.KeyAlgoED25519}},
		"Ed25519 and RSA": {knownHost{keys: []gossh.PublicKey{ed, rsa, ed}}, []string{gossh.KeyAlgoED25519, gossh.KeyAlgoRSASHA512, gossh.KeyAlgoRSASHA256, gossh.KeyAlgoECDSA256}},
		"authority":       {knownHost{authorities: []gossh.PublicKey{ca}}, []string{gossh.CertAlgoRSASHA256v01}},
	} {
		got := tt.host.algorithms()
		if len(got) < len(tt.want) || strings.Join(got[:len(tt.want)], " ") != strings.Join(tt.want, " ") {
			t.Errorf("%s: got %v, want it to begin with %v", name, got, tt.want)
		}
		if slices.Index(got, gossh.CertAlgoED25519v01) > slices.Index(got, gossh.KeyAlgoED25519) != (tt.host.authorities == nil) {
			t.Errorf("%s: certificates are at the wrong place: %v", name, got)
		}
	}
}

func TestHashedNames(t *testing.T) {
	s := newSite(t, sshtest.Config{})
	key := s.server.HostKeys[0].PublicKey()
	write(t, s.target.KnownHosts[0], entry(xknownhosts.HashHostname(knownhosts.Normalize(s.server.Addr)), key))
	_ = s.open(dialer(t, Options{}))(t).Close()
	write(t, s.target.KnownHosts[0], entry(xknownhosts.HashHostname(knownhosts.Normalize(s.server.Addr)), newKey(t).PublicKey()))
	if _, err := dialer(t, Options{}).Dial(t.Context(), s.target); transport.KindOf(err) != transport.HostKeyChanged {
		t.Fatalf("got %v", err)
	}
	// A new key is recorded with a hashed name when the target requests that.
	s.target.KnownHosts = []string{s.dir + "/new"}
	s.target.HostKeys, s.target.HashKnownHosts = AcceptNew, true
	_ = s.open(dialer(t, Options{}))(t).Close()
	if text, _ := os.ReadFile(s.dir + "/new"); !strings.HasPrefix(string(text), "|1|") {
		t.Errorf("recorded %q", text)
	}
	s.target.HostKeys = Strict
	_ = s.open(dialer(t, Options{}))(t).Close()
}
