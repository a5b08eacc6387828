package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errStopped is the cause of a context that a second interrupt has cancelled.
var errStopped = errors.New("stopped by a second interrupt; steps in flight may be incomplete, and the next run repairs them")

// signals closes the channel on the first interrupt, which ends a run after the steps
// in flight, and cancels the context on the second. The caller must call the returned
// function.
func signals(ctx context.Context) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	interrupt := make(chan struct{})
	got := make(chan os.Signal, 2)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-got:
				if n == 0 {
					close(interrupt)
				} else {
					cancel(errStopped)
				}
			}
		}
	}()
	return ctx, interrupt, func() {
		signal.Stop(got)
		close(done)
		cancel(nil)
	}
}

// untilInterrupt calls do with a context that the first interrupt cancels, for work that is no run.
// Programs that do has started are in process groups of their own, so only the context ends them.
func untilInterrupt(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := do(ctx)
	if err != nil && ctx.Err() != nil {
		return &exitError{exitInterrupted, err}
	}
	return err
}
