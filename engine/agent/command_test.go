package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/sanitize"
)

func TestOutputIsKeptAtBothEnds(t *testing.T) {
	m := headTail{limit: 10}
	for _, p := range []string{"abc", "defghij", "klmnopqrstuvw", "xyz"} {
		if n, err := m.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := m.String(); got != "abcde\n[... 16 bytes left out ...]\nvwxyz" {
		t.Errorf("got %q", got)
	}
	if got := sanitize.CutStart("äöü", 3); got != "[... 4 bytes left out ...]\nü" {
		t.Errorf("got %q", got)
	}
	if got := sanitize.CutEnd("äöü", 3); got != "ä\n[... 4 bytes left out ...]\n" {
		t.Errorf("got %q", got)
	}
}

func TestCommandIsKilledWithItsChildren(t *testing.T) {
	cause := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { stop(cause) })
	began := time.Now()
	_, err := RunCommand(ctx, engine.Command{Argv: []string{"/bin/sh", "-c", "sleep 60 & sleep 60"}})
	if !errors.Is(err, cause) || time.Since(began) > 20*time.Second {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
	if _, err := RunCommand(t.Context(), engine.Command{Argv: []string{"no-such-program"}}); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("got %v", err)
	}
	r, err := RunCommand(t.Context(), engine.Command{Argv: []string{"/bin/sh", "-c", "cat; pwd; echo $LC_ALL $X"}, Stdin: []byte("in\n"), Dir: "/", Env: []string{"X=y"}})
	if err != nil || r.Stdout != "in\n/\nC y\n" {
		t.Errorf("got %+v, %v", r, err)
	}
}
