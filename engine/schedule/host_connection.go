package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/engine/session"
	"deployer/jsontypes"
)

// connect connects the host if it has no session, and updates its facts.
func (h *host) connect(ctx context.Context, attempts int) error {
	opened, err := h.connection.Get(ctx, h.stop(), attempts)
	if err != nil {
		return asHostFailure(err)
	}
	if err := h.refresh(); err != nil {
		return err
	}
	h.loadPendingHandlers(opened)
	return nil
}

// asHostFailure returns the *hostFailure for a machine that was given up, and any other
// error as it is.
func asHostFailure(err error) error {
	var down *session.Unreachable
	if errors.As(err, &down) {
		return unreachable(down)
	}
	return err
}

func unreachable(err error) *hostFailure {
	return &hostFailure{failure: &engine.Failure{Message: err.Error()}, unreachable: true}
}

// refresh sets the host's facts to those of the current session.
func (h *host) refresh() error {
	live := h.live()
	if live == nil {
		return errTruncated
	}
	facts, err := jsontypes.FromGo(live.Facts())
	if err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	h.vars.Assign("facts", facts)
	return nil
}

// sleep waits for d, or until the run ends.
func (h *host) sleep(ctx context.Context, d time.Duration) error {
	return session.Sleep(ctx, h.stop(), d)
}

// live returns the host's session; nil when there is none.
func (h *host) live() session.Session { return h.connection.Live() }

// acquireForks takes one of the run's forks for the operation at op, and before it one
// of its play's forks, if the play has a bound of its own. release returns both.
func (h *host) acquireForks(op int) (release func(), err error) {
	own := h.run.playSemaphores[h.run.prog.Ops[op].Play.Index]
	if own == nil {
		return h.run.forks.Release, h.run.forks.Acquire(h.stop())
	}
	if err := own.Acquire(h.stop()); err != nil {
		return nil, err
	}
	if err := h.run.forks.Acquire(h.stop()); err != nil {
		own.Release()
		return nil, err
	}
	return func() { h.run.forks.Release(); own.Release() }, nil
}
