package main

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"
)

// TestUntilInterrupt: an interrupt ends the work and gives the exit code of interrupted runs; without
// one the error of the work stays as it is.
func TestUntilInterrupt(t *testing.T) {
	err := untilInterrupt(t.Context(), func(ctx context.Context) error {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Minute):
			return errors.New("the context was not cancelled")
		}
	})
	var exit *exitError
	if !errors.As(err, &exit) || exit.code != exitInterrupted {
		t.Errorf("the error is %v", err)
	}
	failed := errors.New("no disk")
	var interrupted *exitError
	if err := untilInterrupt(t.Context(), func(context.Context) error { return failed }); !errors.Is(err, failed) || errors.As(err, &interrupted) {
		t.Errorf("an error without interrupt: %v", err)
	}
}
