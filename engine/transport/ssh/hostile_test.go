package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
	"unicode"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
	"deployer/engine/transport/sshtest"
)

// overBytes performs a handshake with a server that sends these bytes and closes the
// connection.
func overBytes(t testing.TB, says []byte) error {
	t.Helper()
	here, there := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	go func() {
		_, _ = there.Write(says)
		_ = there.Close()
	}()
	key, err := sshtest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Host: "m1", Timeout: 2 * time.Second, KnownHosts: []string{"/nowhere/known"}}
	var known knownStore
	k, err := known.open(target)
	if err != nil {
		t.Fatal(err)
	}
	_, err = handshake(t.Context(), &activeConn{Conn: here}, target, credentials{signers: []gossh.Signer{key}}, &passwordLogin{}, k)
	_ = here.Close()
	return err
}

func checkHostile(t *testing.T, err error) {
	t.Helper()
	var e *transport.Error
	if !errors.As(err, &e) || e.Host != "m1" {
		t.Fatalf("got %v", err)
	}
	if strings.ContainsFunc(err.Error(), unicode.IsControl) {
		t.Fatalf("control characters in %q", err.Error())
	}
}

func TestServersThatAreNone(t *testing.T) {
	for name, tt := range map[string]struct {
		says string
		kind transport.Kind
		text string
	}{
		"a web server":     {"HTTP/1.1 400 Bad Request\r\n\r\n", transport.Lost, "closed the connection"},
		"a huge line":      {strings.Repeat("x", 1<<20), transport.Config, "check that an SSH server, and nothing else, listens on m1:22"},
		"endless lines":    {strings.Repeat("hello\n", 1<<18), transport.Config, "check that an SSH server"},
		"SSH version 1":    {"SSH-1.5-old\r\n", transport.Lost, ""},
		"escape sequences": {"SSH-2.0-\x1b[2J\x1b]0;owned\x07\r\n\x00\x00\x00\x0c\x06\x01", transport.Lost, ""},
		"disconnect message with escape sequences": {"SSH-2.0-x\r\n" + packet("\x01\x00\x00\x00\x02\x00\x00\x00\x09\x1b[2Jgone!\x00\x00\x00\x00"), transport.Config, "gone!"},
		"huge packet": {"SSH-2.0-x\r\n\xff\xff\xff\xff\x06\x14", transport.Config, ""},
	} {
		err := overBytes(t, []byte(tt.says))
		checkHostile(t, err)
		if transport.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: got %s: %v", name, transport.KindOf(err), err)
		}
	}
}

// packet frames a payload as SSH does before keys are exchanged.
func packet(payload string) string {
	padding := 8 - (len(payload)+5)%8 + 8
	length := len(payload) + padding + 1
	return string([]byte{0, 0, byte(length >> 8), byte(length), byte(padding)}) + payload + strings.Repeat("\x00", padding)
}

// noisy returns a dialer that inserts text before the output of a server.
func noisy(words, to string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, to)
		return &prefixed{Conn: c, words: strings.NewReader(words)}, err
	}
}

type prefixed struct {
	net.Conn
	words *strings.Reader
}

func (p *prefixed) Read(b []byte) (int, error) {
	if p.words.Len() > 0 {
		return p.words.Read(b)
	}
	return p.Conn.Read(b)
}

// TestNoiseBeforeTheBanner checks that lines of a server before its identification are
// skipped.
func TestNoiseBeforeTheBanner(t *testing.T) {
	s := newSite(t, sshtest.Config{})
	to := s.server.Addr
	d := dialer(t, Options{Net: noisy("Welcome to \x1b[31mhost\x1b[0m\r\n\r\nAuthorized use only\n", to)})
	_ = s.open(d)(t).Close()
}

func FuzzServer(f *testing.F) {
	f.Add([]byte("SSH-2.0-x\r\n" + packet("\x14aaaaaaaaaaaaaaaa")))
	f.Add([]byte("noise\nSSH-2.0-x\n" + packet("\x01\x00\x00\x00\x02\x00\x00\x00\x01\x1b")))
	f.Add([]byte("\x1b]0;x\x07"))
	f.Fuzz(func(t *testing.T, says []byte) { checkHostile(t, overBytes(t, says)) })
}
