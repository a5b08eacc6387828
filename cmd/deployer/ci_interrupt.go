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
// once. The error is that of interruption.result.
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
	return interruption{first: ctx.Err() != nil, second: context.Cause(stopped)}.result(err)
}

// interruption holds the signals that a run has had before its end.
type interruption struct {
	first  bool  // the run was told to end after the steps in flight
	second error // the cause when the run was told to end at once: errStopped; otherwise nil
}

// result returns the error of deployer for the error of the run:
//
//	the run returns             after     deployer returns
//	success                     -         success
//	an error                    no signal the error of the run
//	an error with an exit code  a signal  the error of the run, which had ended before the signal
//	the code of an interrupt    the first the error of the run
//	the code of an interrupt    a second  the cause and the error of the run
//	context.Canceled            a signal  "interrupted", and that nothing was changed
//	any other error             a signal  "interrupted", and the error of the run
//
// The last three have the exit code of an interrupt.
func (i interruption) result(err error) error {
	var exit *exitError
	hasCode := errors.As(err, &exit)
	switch {
	case err == nil, !i.first, hasCode && exit.code != exitInterrupted, hasCode && i.second == nil:
		return err
	case hasCode:
		err = fmt.Errorf("%w (%w)", i.second, err)
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted: the run had not begun, and nothing was changed")
	default:
		err = fmt.Errorf("interrupted: %w", err)
	}
	return &exitError{exitInterrupted, err}
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
