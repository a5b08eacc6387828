package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"deployer/ci/report"
)

// runInterruptible calls do with a context that the first signal of the user cancels: the
// run then ends after the steps in flight. The second closes stop: the run then ends at
// once. An error of do after a signal has the exit code of an interrupt.
func runInterruptible(ctx context.Context, e env, do func(ctx context.Context, stop <-chan struct{}) error) error {
	stopped, interrupt, end := signals(ctx)
	defer end()
	ctx, cancel := context.WithCancel(stopped)
	defer cancel()
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-interrupt:
			fmt.Fprintln(e.stderr, "deployer: finishing the steps in flight; interrupt again to stop now")
			cancel()
		case <-done:
		}
	})
	err := do(ctx, stopped.Done())
	close(done)
	watcher.Wait()
	var exit *exitError
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.As(err, &exit) && exit.code != exitInterrupted:
		return err // the run had ended before the signal
	case stopped.Err() != nil && exit != nil:
		return &exitError{exitInterrupted, fmt.Errorf("%w (%w)", context.Cause(stopped), err)}
	case exit != nil:
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("the run had not begun, and nothing was changed")
	}
	return &exitError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
}

// interruptedError returns the error of a run that was interrupted, with the inventories of
// the clusters whose deploy or verify was not completed.
func interruptedError(r *report.Run) error {
	var open []string
	for _, c := range r.Clusters {
		if c.Outcome == report.Interrupted {
			open = append(open, c.Inventory)
		}
	}
	if len(open) == 0 {
		return errors.New("interrupted; the next run continues")
	}
	return fmt.Errorf("interrupted; the next run continues with %s", strings.Join(open, ", "))
}
