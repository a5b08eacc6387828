package hostcmd

import (
	"errors"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestQuotedCommandIsValidShell(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	argv := []string{"printf", "%s|", "a b", "it's", "", "$HOME", "*", "plain-1.2/x=y"}
	direct, err := Run(t.Context(), sys, argv...)
	if err != nil {
		t.Fatal(err)
	}
	pasted, err := Run(t.Context(), sys, "sh", "-c", Quote(argv))
	if err != nil || pasted != direct {
		t.Errorf("%q, %v; want %q", pasted, err, direct)
	}
	if long := Quote([]string{strings.Repeat("x", 1000)}); len(long) > 300 {
		t.Errorf("a line of %d bytes for people", len(long))
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	_, err := Run(t.Context(), sys, "sh", "-c", "for i in $(seq 100); do echo line $i >&2; done; exit 7")
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok || !strings.HasSuffix(failure.Message, "ended with exit code 7: line 100") {
		t.Fatalf("error %v", err)
	}
	if lines := strings.Split(failure.Detail, "\n"); len(lines) != 20 || lines[0] != "line 81" {
		t.Errorf("detail of %d lines from %q", len(lines), lines[0])
	}
	_, err = Run(t.Context(), sys, "sh", "-c", "echo only on stdout; exit 1")
	if err == nil || !strings.Contains(err.Error(), "only on stdout") {
		t.Errorf("error %v", err)
	}
}
