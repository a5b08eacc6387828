package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"deployer/engine/lang"
)

// connect makes sure that the host has a session, and takes its facts over.
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

// refresh takes the facts of the present session over.
func (h *host) refresh() error {
	session := h.live()
	if session == nil {
		return errTruncated
	}
	facts, err := asMap(session.Facts())
	if err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	h.vars.Assign("facts", facts)
	return nil
}

// sleep waits, unless the run ends before.
func (h *host) sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, h.stop(), d) }

// live is the host's session, nil when there is none.
func (h *host) live() *session { return h.connection.live() }

// retryable tells whether trying again can help, as the error says.
func retryable(err error) bool {
	var r interface{ Retryable() bool }
	return errors.As(err, &r) && r.Retryable()
}

// isConnection tells trouble with the connection, which says whether trying
// again can help, from a host that cannot carry out a segment: its disk is full.
func isConnection(err error) bool {
	var r interface{ Retryable() bool }
	return errors.As(err, &r)
}

// asMap turns a struct into variables, by its JSON names.
func asMap(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	return lang.Normalize(m).(map[string]any), nil
}
