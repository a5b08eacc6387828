// Package conformance is the suite that every transport passes.
package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/engine/transport"
)

// Subject is the transport under test.
type Subject struct {
	// Open makes a new connection to a host with a POSIX shell.
	Open func(t *testing.T) transport.Conn
	// Cut ends all connections from outside; nil when that cannot happen.
	Cut func()
	// Listen listens where the host can reach it; on loopback when nil, for
	// hosts that are this machine.
	Listen func() (net.Listener, error)
}

// patience bounds what must happen soon.
const patience = 20 * time.Second

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	tests := map[string]func(*testing.T, Subject){
		"exec carries input, output and status":    execCarries,
		"exec ends with its context":               execEnds,
		"exec survives a command that reads not":   execUnread,
		"output is bounded on the standard error":  execStderr,
		"many commands at once":                    execMany,
		"start is a conversation":                  startTalks,
		"wait can be called often":                 waitOften,
		"closing a process ends its input":         processClose,
		"much data goes through unharmed":          bulk,
		"dial reaches what the host sees":          dialReaches,
		"dial says when nothing listens":           dialRefused,
		"a terminal passes bytes as they are":      terminalIsRaw,
		"close ends everything":                    closeEnds,
		"a lost connection is noticed by everyone": lostEnds,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

func open(t *testing.T, s Subject) (context.Context, transport.Conn) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	conn := s.Open(t)
	t.Cleanup(func() { _ = conn.Close() })
	return ctx, conn
}

func execCarries(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	var out bytes.Buffer
	exit, err := conn.Exec(ctx, `cat; echo oops >&2; exit 3`, strings.NewReader("a\x00b\n"), &out)
	if err != nil {
		t.Fatal(err)
	}
	if exit.Code != 3 || exit.Stderr != "oops\n" || out.String() != "a\x00b\n" {
		t.Fatalf("got %+v and %q", exit, out.String())
	}
	exit, err = conn.Exec(ctx, "true", nil, nil)
	if err != nil || exit.Code != 0 {
		t.Fatalf("got %+v, %v", exit, err)
	}
}

func execEnds(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	cause := errors.New("enough")
	ctx, stop := context.WithCancelCause(ctx)
	started := make(chan struct{})
	go func() { <-started; stop(cause) }()
	_, err := conn.Exec(ctx, "echo up; exec sleep 60", nil, writerFunc(func(p []byte) (int, error) {
		close(started)
		return len(p), nil
	}))
	if !errors.Is(err, cause) {
		t.Fatalf("got %v", err)
	}
	if _, err := conn.Start(ctx, "true"); !errors.Is(err, cause) {
		t.Fatalf("starting: got %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func execUnread(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	exit, err := conn.Exec(ctx, "exit 4", bytes.NewReader(make([]byte, 8<<20)), nil)
	if err != nil || exit.Code != 4 {
		t.Fatalf("got %+v, %v", exit, err)
	}
}

func execStderr(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	exit, err := conn.Exec(ctx, `i=0; while [ $i -lt 3000 ]; do echo "line $i xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" >&2; i=$((i+1)); done`, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(exit.Stderr) > transport.StderrLimit || !strings.Contains(exit.Stderr, "line 2999 ") {
		t.Fatalf("kept %d bytes", len(exit.Stderr))
	}
}

func execMany(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var out bytes.Buffer
			exit, err := conn.Exec(ctx, "cat", strings.NewReader("same"), &out)
			if err != nil || exit.Code != 0 || out.String() != "same" {
				t.Errorf("got %+v, %q, %v", exit, out.String(), err)
			}
		})
	}
	all.Wait()
}

func startTalks(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	p, err := conn.Start(ctx, `while read -r l; do echo "heard $l"; done; exit 5`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	buf := make([]byte, 100)
	for _, word := range []string{"one", "two"} {
		if _, err := io.WriteString(p.Stdin(), word+"\n"); err != nil {
			t.Fatal(err)
		}
		n, err := io.ReadAtLeast(p.Stdout(), buf, len("heard \n")+len(word))
		if err != nil || string(buf[:n]) != "heard "+word+"\n" {
			t.Fatalf("got %q, %v", buf[:n], err)
		}
	}
	_ = p.Stdin().Close()
	if rest, err := io.ReadAll(p.Stdout()); err != nil || len(rest) > 0 {
		t.Fatalf("got %q, %v", rest, err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 5 {
		t.Fatalf("got %+v, %v", exit, err)
	}
}

func waitOften(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	p, err := conn.Start(ctx, "exit 6")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if exit, err := p.Wait(); err != nil || exit.Code != 6 {
			t.Fatalf("got %+v, %v", exit, err)
		}
	}
}

func processClose(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	p, err := conn.Start(ctx, "cat >/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	soon(t, "the process to end", func() { _, _ = p.Wait() })
	if exit, err := conn.Exec(ctx, "exit 7", nil, nil); err != nil || exit.Code != 7 {
		t.Fatalf("afterwards: %+v, %v", exit, err)
	}
}

func bulk(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	data := make([]byte, 16<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	h := sha256.New()
	if _, err := conn.Exec(ctx, "cat", bytes.NewReader(data), h); err != nil {
		t.Fatal(err)
	}
	if want := sha256.Sum256(data); !bytes.Equal(h.Sum(nil), want[:]) {
		t.Fatal("the data changed on the way")
	}
}

func echoServer(t *testing.T, s Subject) string {
	t.Helper()
	listen := s.Listen
	if listen == nil {
		listen = func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	}
	l, err := listen()
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
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

func dialReaches(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	c, err := conn.Dial(ctx, "tcp", echoServer(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 5)
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "hello" {
		t.Fatalf("got %q, %v", buf, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func dialRefused(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	_, err := conn.Dial(ctx, "tcp", "127.0.0.1:1")
	var e *transport.Error
	if !errors.As(err, &e) || e.Kind != transport.Unreachable || e.Host == "" || strings.Contains(err.Error(), "ssh.port") {
		t.Fatalf("got %v", err)
	}
}

func terminalIsRaw(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	terminals, ok := conn.(transport.Terminals)
	if !ok {
		return // a transport without terminals
	}
	p, err := terminals.StartTerminal(ctx, `test -t 0 && test -t 1 && test -t 2 && printf ready && head -c 256 && echo done >&2; exit 8`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	every := make([]byte, 256) // every byte there is: ^C, ^D, ^S, line ends, escapes
	for i := range every {
		every[i] = byte(i)
	}
	ready := make([]byte, len("ready"))
	if _, err := io.ReadFull(p.Stdout(), ready); err != nil || string(ready) != "ready" {
		t.Fatalf("got %q, %v", ready, err)
	}
	if _, err := p.Stdin().Write(every); err != nil {
		t.Fatal(err)
	}
	back, err := io.ReadAll(p.Stdout())
	if err != nil || string(back) != string(every)+"done\n" {
		t.Fatalf("got %q, %v", back, err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 8 {
		t.Fatalf("got %+v, %v", exit, err)
	}
}

func closeEnds(t *testing.T, s Subject) {
	ctx, conn := open(t, s)
	p, err := conn.Start(ctx, "cat")
	if err != nil {
		t.Fatal(err)
	}
	c, err := conn.Dial(ctx, "tcp", echoServer(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatalf("closing: %v", err)
	}
	soon(t, "the process to end", func() { _, _ = p.Wait() })
	soon(t, "the dialed connection to end", func() { _, _ = c.Read(make([]byte, 1)) })
	soon(t, "Lost", func() { <-conn.Lost() })
	if err := conn.Err(); err != nil {
		t.Fatalf("closed by us, yet %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Fatalf("closing again: %v", err)
	}
	if _, err := conn.Start(ctx, "true"); transport.KindOf(err) != transport.Lost {
		t.Fatalf("starting after close: %v", err)
	}
}

func lostEnds(t *testing.T, s Subject) {
	if s.Cut == nil {
		return // a transport that cannot be cut
	}
	ctx, conn := open(t, s)
	p, err := conn.Start(ctx, "cat")
	if err != nil {
		t.Fatal(err)
	}
	s.Cut()
	soon(t, "Lost", func() { <-conn.Lost() })
	var e *transport.Error
	if err := conn.Err(); !errors.As(err, &e) || e.Kind != transport.Lost || !e.Retryable() {
		t.Fatalf("Err is %v", err)
	}
	if _, err := p.Wait(); transport.KindOf(err) != transport.Lost {
		t.Fatalf("Wait gave %v", err)
	}
	if _, err := conn.Exec(ctx, "true", nil, nil); transport.KindOf(err) != transport.Lost {
		t.Fatalf("Exec gave %v", err)
	}
}

func soon(t *testing.T, what string, wait func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
	}
}
