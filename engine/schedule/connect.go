package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"deployer/engine"
	"deployer/engine/playbook"
)

// connect opens a session, trying again while the trouble may pass. While it
// waits between tries it holds no fork.
func (h *host) connect(ctx context.Context, attempts int) error {
	wait := h.run.opts.Retry.First
	for try := 1; ; try++ {
		err := h.connectOnce(ctx)
		if err == nil {
			if err = h.run.claim.join(ctx, h); err == nil {
				return nil
			}
			h.close()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if h.run.stop.Err() != nil {
			return context.Cause(h.run.stop)
		}
		last := try >= attempts || !retryable(err)
		h.run.claim.miss(h, last)
		if last {
			return h.unreachable(err, try)
		}
		pause := shortened(wait)
		h.run.emit(engine.Event{Type: engine.HostRetry, Host: h.name,
			Text: fmt.Sprintf("%v; trying again in %s (%d of %d)", err, pause.Round(100*time.Millisecond), try+1, attempts)})
		if err := h.sleep(ctx, pause); err != nil {
			return err
		}
		wait = min(2*wait, h.run.opts.Retry.Most)
	}
}

func (h *host) unreachable(err error, tries int) error {
	message := err.Error()
	if tries > 1 {
		message += fmt.Sprintf(" (tried %d times)", tries)
	}
	return &failed{failure: &engine.Failure{Message: message}, unreachable: true}
}

func (h *host) connectOnce(ctx context.Context) error {
	if err := h.run.forks.acquire(h.run.stop); err != nil {
		return err
	}
	defer h.run.forks.release()
	session, err := h.run.opts.Connector.Connect(ctx, h.name)
	if err != nil {
		return err
	}
	facts, err := asMap(session.Facts())
	if err != nil {
		_ = session.Close()
		return fmt.Errorf("facts: %w", err)
	}
	h.vars.Set("facts", facts)
	h.mu.Lock()
	h.session = session
	h.mu.Unlock()
	return nil
}

// sleep waits, unless the run ends before.
func (h *host) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-h.run.stop.Done():
		return context.Cause(h.run.stop)
	}
}

// shortened takes up to a quarter off, at random.
func shortened(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d)/4+1))
}

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

// live is the host's session, nil when there is none.
func (h *host) live() Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

// close ends the session; what Close reports no longer matters to anybody.
func (h *host) close() {
	h.mu.Lock()
	s := h.session
	h.session = nil
	h.mu.Unlock()
	if s != nil {
		_ = s.Close()
	}
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
	return playbook.Normalize(m).(map[string]any), nil
}
