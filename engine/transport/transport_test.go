package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

func TestErrorsAreClassifiedByType(t *testing.T) {
	op := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	for _, tt := range []struct {
		err  error
		kind Kind
	}{
		{op(syscall.ECONNREFUSED), Unreachable},
		{op(syscall.EHOSTUNREACH), Unreachable},
		{op(syscall.ENETUNREACH), Unreachable},
		{op(syscall.ETIMEDOUT), Timeout},
		{op(syscall.ECONNRESET), Lost},
		{&net.DNSError{Err: "no such host", IsTimeout: true}, Unreachable},
		{fmt.Errorf("waiting: %w", context.DeadlineExceeded), Timeout},
		{os.ErrDeadlineExceeded, Timeout},
		{fmt.Errorf("reading: %w", io.EOF), Lost},
		{net.ErrClosed, Lost},
		{errors.New("anything"), Config},
	} {
		e := Classify("m1", StageConnect, tt.err, Config)
		if e.Kind != tt.kind || e.Host != "m1" || !errors.Is(e, tt.err) {
			t.Errorf("%v: got %+v", tt.err, e)
		}
		again := Classify("other", StageRun, fmt.Errorf("outer: %w", e), Auth)
		if again != e {
			t.Errorf("%v was classified twice", tt.err)
		}
	}
}

func TestEveryKindSaysWhatToDo(t *testing.T) {
	for _, kind := range []Kind{Unreachable, Timeout, Lost, Auth, HostKeyUnknown, HostKeyChanged, BecomePassword} {
		e := &Error{Host: "m1", Stage: StageConnect, Kind: kind, Err: errors.New("cause")}
		if text := e.Error(); !strings.HasPrefix(text, "m1: connect: cause; ") || KindOf(fmt.Errorf("x: %w", e)) != kind {
			t.Errorf("%s: %q", kind, text)
		}
		retry := kind == Unreachable || kind == Timeout || kind == Lost
		if e.Retryable() != retry {
			t.Errorf("%s: retryable is %v", kind, e.Retryable())
		}
	}
	own := &Error{Host: "m1", Stage: StageAgent, Kind: Config, Err: errors.New("cause"), Advice: "do this"}
	if text := own.Error(); text != "m1: agent: cause; do this" {
		t.Errorf("got %q", text)
	}
}

func TestTailReadsToTheEnd(t *testing.T) {
	text := strings.Repeat("0123456789", 300)
	for name, want := range map[string]error{"end": nil, "trouble": syscall.ECONNRESET} {
		var tail Tail
		n, err := io.Copy(&tail, io.MultiReader(strings.NewReader(text), iotest.ErrReader(cmp.Or(want, io.EOF))))
		if !errors.Is(err, want) || n != int64(len(text)) || tail.String() != text {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	tail := Tail{Limit: 10}
	for range 100 {
		if _, err := tail.Write([]byte("0123456")); err != nil {
			t.Fatal(err)
		}
	}
	if got := tail.String(); got != "4560123456" {
		t.Errorf("got %q", got)
	}
}
