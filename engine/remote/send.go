package remote

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"deployer/engine/sanitize"
	"deployer/engine/transport"
)

// The program travels in pieces of sendPiece bytes, and no more than piecesAhead
// of them before the host has taken the first: OpenSSH's server would take all in
// at once, and copies what waits in it anew for each packet that comes. Half a
// megabyte is on its way at a time, as much as 20 MB/s need over 25 ms.
const (
	sendChunk      = 256 << 10
	chunksInFlight = 2
)

// send brings the program to a host that waits for it. As long as it moves there
// is no limit of time.
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
		// An error is heard of from the other side, which then ends.
		_, _ = fmt.Fprintf(t.Stdin(), "%s %d %d\n", form, len(data), sendChunk)
		_ = writeChunks(t.Stdin(), data, &sent, t.inFlight, over)
	}()
	seen := int64(0)
	moved := func() (bool, error) {
		before := seen
		seen = sent.Load()
		return seen > before, nil
	}
	if err := c.withIdleTimeout(ctx, t, "the host took no more of the agent", moved, t.readAnswers); err != nil {
		return c.explainNoAnswer(t, "the agent was not taken in", err)
	}
	if t.present {
		c.sent = len(data)
		return nil
	}
	if t.problem == "digest" {
		return c.fail(transport.StageAgent, transport.Lost, fmt.Errorf("the agent arrived damaged: its SHA-256 is %q, not %s", sanitize.Text(t.digest), program.digest))
	}
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageAgent, Kind: transport.Config,
		Err:    fmt.Errorf("the agent could not be written to %s%s", sanitize.Text(t.dir), c.hostOutput(c.finalOutput(t))),
		Advice: "free some space there"}
}

// writeChunks writes data as far as there is room ahead, until all is over.
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
