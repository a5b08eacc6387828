package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"deployer/engine/spread"
)

// Plan is the source that the controller assigns to one transfer; without either the host waits for
// the next plan.
type Plan struct {
	Peer       *Peer
	Controller bool
}

// Report tells the controller about one transfer.
type Report struct {
	Have int           // verified chunks
	Took time.Duration // longest transfer of a chunk since the last report
	Kept bool          // the chunks are of an earlier session
	// Failed is set when the present source has failed.
	Failed *SourceError
}

// Hooks connect a transfer with the session of the host.
type Hooks struct {
	Report func(Report)
	// FromController opens the zstd form from an offset on.
	FromController func(ctx context.Context, offset int64) (io.ReadCloser, error)
	// Lost is closed when the controller is gone, so that no plan comes any more.
	Lost <-chan struct{}
}

// Transfer fetches the chunks of one blob, in their order, from one source after the other.
type Transfer struct {
	node  *Node
	spool *Spool
	hooks Hooks
	plans chan Plan     // the newest plan that was not read yet
	done  chan struct{} // closed when the transfer has ended

	buf      []byte
	slowest  time.Duration
	reported time.Time
}

// Assign replaces the source. One goroutine may call it.
func (t *Transfer) Assign(p Plan) {
	for {
		select {
		case t.plans <- p:
			return
		case <-t.plans: // an older plan
		}
	}
}

// Wait waits for the end of the transfer and of its reports.
func (t *Transfer) Wait() { <-t.done }

func (t *Transfer) run(ctx context.Context) {
	defer close(t.done)
	t.buf = make([]byte, min(ChunkSize, t.spool.Size))
	if have := t.spool.Have(); have > 0 {
		t.hooks.Report(Report{Have: have, Kept: true})
	}
	if err := t.fetch(ctx); err != nil {
		t.spool.fail(err)
		return
	}
	t.hooks.Report(Report{Have: t.spool.Have(), Took: t.slowest})
}

func (t *Transfer) fetch(ctx context.Context) error {
	var plan Plan
	for !t.spool.Complete() {
		var err error
		switch {
		case plan.Controller:
			return t.fromController(ctx)
		case plan.Peer != nil:
			plan, err = t.fromPeer(ctx, *plan.Peer)
		default:
			plan, err = t.awaitPlan(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitPlan waits for a plan. A host that gets none for longer than the planner lets it wait takes
// the blob from the controller.
func (t *Transfer) awaitPlan(ctx context.Context) (Plan, error) {
	late := time.NewTimer(Patience + StarveTimeout)
	defer late.Stop()
	select {
	case p := <-t.plans:
		return p, nil
	case <-late.C:
		return Plan{Controller: true}, nil
	case <-t.hooks.Lost:
		return Plan{Controller: true}, nil
	case <-ctx.Done():
		return Plan{}, context.Cause(ctx)
	}
}

// fromController receives the remaining chunks from the controller.
func (t *Transfer) fromController(ctx context.Context) error {
	at := t.spool.Have()
	stream, err := t.hooks.FromController(ctx, int64(at)*ChunkSize)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for ; at < t.spool.Chunks(); at++ {
		began := time.Now()
		chunk := t.buf[:t.spool.length(at)]
		if _, err := io.ReadFull(stream, chunk); err != nil {
			return fmt.Errorf("receiving a chunk from the controller: %w", err)
		}
		if err := t.spool.Add(chunk); err != nil {
			return fmt.Errorf("chunk %d from the controller: %w", at, err)
		}
		t.progress(time.Since(began))
	}
	return nil
}

// notYetPause is the pause before a chunk is requested again that the source does not have yet; the
// source itself waits before it says so.
const notYetPause = 50 * time.Millisecond

// fromPeer receives chunks from a peer until the spool is complete, there is another plan, or the
// peer has failed: then it returns a plan to wait.
func (t *Transfer) fromPeer(ctx context.Context, p Peer) (Plan, error) {
	c, err := newClient(t.node.identity, p)
	if err != nil {
		return Plan{}, err
	}
	defer c.close()
	last := time.Now()
	for at := t.spool.Have(); at < t.spool.Chunks(); {
		select {
		case next := <-t.plans:
			if next.Peer == nil || next.Peer.Name != p.Name {
				return next, nil
			}
		default:
		}
		chunk := t.buf[:t.spool.length(at)]
		took, err := c.chunk(ctx, t.spool.Manifest, at, chunk)
		if err == nil {
			if err = t.spool.Add(chunk); errors.Is(err, errWrong) {
				err = &SourceError{Peer: p.Name, Why: spread.Corrupt, Err: err}
			}
		}
		var failed *SourceError
		switch {
		case err == nil:
			at, last = at+1, time.Now()
			t.progress(took)
		case errors.As(err, &failed):
			t.hooks.Report(Report{Have: at, Failed: failed})
			return Plan{}, nil
		case !errors.Is(err, errNotYet):
			return Plan{}, err
		case time.Since(last) >= StarveTimeout:
			last = time.Now()
			t.hooks.Report(Report{Have: at, Failed: &SourceError{Peer: p.Name, Why: spread.Starved, Err: err}})
		default:
			if err := pause(ctx, notYetPause); err != nil {
				return Plan{}, err
			}
		}
	}
	return Plan{}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// progress reports a new chunk: at intervals, and at once when it took long.
func (t *Transfer) progress(took time.Duration) {
	t.slowest = max(t.slowest, took)
	if t.spool.Complete() || time.Since(t.reported) < ReportInterval && t.slowest < ReportAtOnce {
		return
	}
	t.hooks.Report(Report{Have: t.spool.Have(), Took: t.slowest})
	t.slowest, t.reported = 0, time.Now()
}
