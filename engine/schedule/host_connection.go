package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/jsontypes"
)

// connect connects the host if it has no session, and updates its facts.
func (h *host) connect(ctx context.Context, attempts int) error {
	session, err := h.connection.get(ctx, h.stop(), attempts)
	if err != nil {
		return err
	}
	if err := h.refresh(); err != nil {
		return err
	}
	h.loadPendingHandlers(session)
	return nil
}

// refresh sets the host's facts to those of the current session.
func (h *host) refresh() error {
	session := h.live()
	if session == nil {
		return errTruncated
	}
	facts, err := jsontypes.FromGo(session.Facts())
	if err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	h.vars.Assign("facts", facts)
	return nil
}

// sleep waits for d, or until the run ends.
func (h *host) sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, h.stop(), d) }

// live returns the host's session; nil when there is none.
func (h *host) live() *session { return h.connection.live() }

// retryable reports whether the error permits a retry.
func retryable(err error) bool {
	var r interface{ Retryable() bool }
	return errors.As(err, &r) && r.Retryable()
}

// isConnection reports whether an error is one of the connection. Such an error has
// Retryable() bool; another means that the host cannot run the segment: its disk is full.
func isConnection(err error) bool {
	var r interface{ Retryable() bool }
	return errors.As(err, &r)
}
