package wire

import (
	"context"
	"fmt"
	"time"
)

// DefaultHeartbeat and DefaultSilence let a hung network be noticed within 15
// seconds, and allow four heartbeats to be late for whatever reason.
const (
	DefaultHeartbeat   = 3 * time.Second
	DefaultIdleTimeout = 15 * time.Second
)

// IdleTimeoutError says that the other end was not heard of for too long.
type IdleTimeoutError struct{ For time.Duration }

func (e *IdleTimeoutError) Error() string {
	return fmt.Sprintf("nothing was received for %v", e.For.Round(time.Millisecond))
}

// Timeout marks it as a time-out for errors that look for one.
func (e *IdleTimeoutError) Timeout() bool { return true }

// RunHeartbeat sends a heartbeat every beat until ctx ends, and returns a
// *SilenceError once no byte has arrived for silence. It returns nil when ctx
// ended, and the error of a heartbeat that could not be sent.
//
// Each heartbeat is sent by a goroutine of its own: on a hung network a send
// blocks, and silence must be noticed just then. It lives no longer than that: a
// controller has a thousand connections.
func (c *Conn) RunHeartbeat(ctx context.Context, beat, silence time.Duration) error {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	check := time.NewTicker(max(silence/8, time.Millisecond))
	defer check.Stop()
	sent, sending := make(chan error, 1), false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if sending {
				continue
			}
			sending = true
			go func() { sent <- c.Send(Heartbeat, 0, nil) }()
		case err := <-sent:
			if err != nil {
				return err
			}
			sending = false
		case <-check.C:
			if s := c.IdleTime(); s > silence {
				return &IdleTimeoutError{For: s}
			}
		}
	}
}
