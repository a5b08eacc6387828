package remote

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"deployer/engine/sanitize"
	"deployer/engine/transport"
)

// The agent is sent in chunks of sendChunk bytes, with at most chunksInFlight of them
// unacknowledged: OpenSSH's server would buffer all of it, and copies its buffer for
// each packet that arrives. Half a megabyte in flight is enough for 20 MB/s over a
// latency of 25 ms.
const (
	sendChunk      = 256 << 10
	chunksInFlight = 2
)

// send sends the agent to a host that waits for it. send may take any time as long as
// the host takes chunks.
func (c *connector) send(ctx context.Context, t *probe) error {
	program, err := c.opts.Binaries.program(t.arch())
	if err != nil {
		return err
	}
	content, form := program.plain, "plain"
	if t.gzip {
		content, form = program.gzipped, "gzip"
	}
	data, err := content()
	if err != nil {
		return fmt.Errorf("agent for %s: %w", t.arch(), err)
	}
	t.missing = false
	var sent atomic.Int64
	over := make(chan struct{})
	defer close(over)
	go func() {
		// After an error the probe ends, and readAnswers returns the reason.
		_, _ = fmt.Fprintf(t.Stdin(), "%s %d %d\n", form, len(data), sendChunk)
		_ = writeChunks(t.Stdin(), data, &sent, t.inFlight, over)
	}()
	seen := int64(0)
	moved := func() (bool, error) {
		before := seen
		seen = sent.Load()
		return seen > before, nil
	}
	if err := c.withIdleTimeout(ctx, t, "the host accepted no more of the agent", moved, t.readAnswers); err != nil {
		return c.explainNoAnswer(t, "the host did not receive the agent", err)
	}
	if t.present {
		c.sent = len(data)
		return nil
	}
	if t.problem == "digest" {
		return c.fail(transport.StageAgent, transport.Lost, fmt.Errorf("the agent arrived damaged: its SHA-256 is %q, not %s", sanitize.Text(t.digest), program.digest))
	}
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageAgent, Kind: transport.Config,
		Err:    fmt.Errorf("writing the agent to %s failed%s", sanitize.Text(t.dir), c.hostOutput(c.finalOutput(t))),
		Advice: "free some space there"}
}

// writeChunks writes data in chunks, as far as there is room in ahead, until done or
// over is closed. writeChunks counts the bytes in sent.
func writeChunks(w io.Writer, data []byte, sent *atomic.Int64, ahead chan<- struct{}, over <-chan struct{}) error {
	for len(data) > 0 {
		select {
		case ahead <- struct{}{}:
		case <-over:
			return nil
		}
		n, err := w.Write(data[:min(len(data), sendChunk)])
		sent.Add(int64(n))
		data = data[n:]
		if err != nil {
			return err
		}
	}
	return nil
}
