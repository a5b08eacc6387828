package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/transport"
)

// attach waits for the banner of the started agent and opens the session.
func (c *connector) attach(ctx context.Context, t *probe) (*Session, error) {
	type outcome struct {
		s   *Session
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		err := awaitBanner(t.out)
		t.stdoutTail.muted.Store(true)
		var s *Session
		if err == nil {
			s, err = open(t.out, t.Stdin(), c.opts, c.hooks(t))
		}
		done <- outcome{s, err}
	}()
	limit := time.NewTimer(c.opts.Timeout)
	defer limit.Stop()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, fmt.Errorf("starting the agent: %w%s", o.err, c.hostOutput(c.finalOutput(t)))
		}
		o.s.announce(c.describe(o.s.Facts()))
		return o.s, nil
	case <-limit.C:
		return nil, c.fail(transport.StageAgent, transport.Timeout, fmt.Errorf("the agent did not start within %v", c.opts.Timeout))
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// awaitBanner reads lines until the agent's banner.
func awaitBanner(r *bufio.Reader) error {
	for noise := 0; noise < maxNoise; {
		line, err := readLine(r)
		if line == protocol.Banner {
			return nil
		}
		if err != nil {
			// The error is not wrapped: it is no lost connection, and a retry does not help.
			return errors.New("it exited before its banner: " + err.Error())
		}
		noise += len(line) + 1
	}
	return fmt.Errorf("it printed more than %d bytes before its banner", maxNoise)
}

// describe returns the text of the event host.up.
func (c *connector) describe(f engine.Facts) string {
	text := fmt.Sprintf("%s %s %s, connected in %v", f.OS, f.OSVersion, f.Arch, time.Since(c.started).Round(time.Millisecond))
	if c.sent > 0 {
		text += fmt.Sprintf(", agent sent (%.1f MB)", float64(c.sent)/1e6)
	}
	return text
}
