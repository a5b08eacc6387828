package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errStopped is the cause when the user does not want to wait.
var errStopped = errors.New("stopped by a second interrupt; steps in flight may be half done, and the next run repairs them")

// signals turns the first interrupt into a request to end after the steps in
// flight, and the second one into the end of the context.
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
