package command

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestOutputIsStandardOutputOnly(t *testing.T) {
	out, err := Output(context.Background(), "sh", "-c", "echo one; echo two >&2; echo three")
	if err != nil || out != "one\nthree" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestInputReachesTheCommand(t *testing.T) {
	out, err := Input(context.Background(), strings.NewReader("a\nb\n"), "cat")
	if err != nil || out != "a\nb" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestFailureSaysWhatWasRunAndWhatItSaid(t *testing.T) {
	_, err := Output(context.Background(), "sh", "-c", "echo no such thing >&2; exit 3")
	want := `sh -c 'echo no such thing >&2; exit 3': exit status 3: no such thing`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the exit code is lost in %#v", err)
	}
}

func TestCancellationCarriesItsCause(t *testing.T) {
	late := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Millisecond, late)
	defer cancel()
	if _, err := Output(ctx, "sleep", "60"); !errors.Is(err, late) {
		t.Errorf("got %v, want %v", err, late)
	}
}

func TestALeftChildDoesNotHoldTheCallUp(t *testing.T) {
	start := time.Now()
	if _, err := Output(context.Background(), "sh", "-c", "sleep 30 & echo done"); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}
