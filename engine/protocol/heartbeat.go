package protocol

import (
	"context"
	"fmt"
	"time"
)

// DefaultHeartbeat is the interval between heartbeats, DefaultIdleTimeout the time
// without any byte after which the other end is lost. Both together detect a hung network within
// 15 seconds and tolerate four late heartbeats.
const (
	DefaultHeartbeat   = 3 * time.Second
	DefaultIdleTimeout = 15 * time.Second
)

// IdleTimeoutError says that no byte arrived for longer than the idle timeout.
type IdleTimeoutError struct{ For time.Duration }

func (e *IdleTimeoutError) Error() string {
	return fmt.Sprintf("idle timeout: nothing was received for %v", e.For.Round(time.Millisecond))
}

// Timeout reports true, as net.Error does for timeouts.
func (e *IdleTimeoutError) Timeout() bool { return true }

// RunHeartbeat sends a heartbeat at every interval until ctx ends. RunHeartbeat returns an
// *IdleTimeoutError when no byte has arrived for idle, nil when ctx ended, and the
// error of a heartbeat that could not be sent.
//
// Each heartbeat is sent in a goroutine of its own, because a send blocks on a hung
// network, which is when the idle timeout matters. The goroutine is short-lived: a
// controller has a thousand connections.
func (c *Conn) RunHeartbeat(ctx context.Context, interval, idle time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	check := time.NewTicker(max(idle/8, time.Millisecond))
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
			if s := c.IdleTime(); s > idle {
				return &IdleTimeoutError{For: s}
			}
		}
	}
}
