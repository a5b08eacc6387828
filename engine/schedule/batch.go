package schedule

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/shortlist"
)

// batch is a part of the hosts of a serial play: they go through the play together, after
// the batches before them.
type batch struct {
	play  *program.Play
	all   []*batch // of the play
	index int      // in all
	hosts []*host
	end   *syncPoint // the end of the play
	begun bool       // guarded by the coordinator's lock
}

// cutBatches assigns the hosts of serial plays to batches. cutBatches cuts batches from all hosts
// of the play, in inventory order, before the run: the loss of a host moves no other host
// to an earlier batch.
func (r *run) cutBatches() {
	for _, p := range r.prog.Plays {
		var members []*host
		for _, h := range r.hosts {
			if h.plays[p.Index] {
				members = append(members, h)
			}
		}
		if len(p.Serial) == 0 {
			continue
		}
		sizes := p.Serial.Sizes(len(members))
		all := make([]*batch, len(sizes))
		for i, size := range sizes {
			all[i] = &batch{play: p, all: all, index: i, hosts: members[:size]}
			for _, h := range all[i].hosts {
				h.batches[p.Index] = all[i]
			}
			members = members[size:]
		}
	}
}

// enterBatch waits for the host's turn in a serial play.
func (h *host) enterBatch(ctx context.Context, p *program.Play) error {
	b := h.batches[p.Index]
	if b.index > 0 {
		if err := h.flush(ctx); err != nil {
			return err
		}
		if err := h.run.coordinator.awaitBatch(ctx, h, b); err != nil {
			return h.cannotWait(err)
		}
		if err := h.checkBudget(ctx, p); err != nil {
			return err
		}
	}
	if h.run.coordinator.startBatch(b) {
		h.run.emit(engine.Event{Type: engine.EventPlayStart, Name: p.Name, Text: b.title()})
	}
	h.cursor++
	return nil
}

// title returns the number of the batch and its hosts.
func (b *batch) title() string {
	names := make([]string, len(b.hosts))
	for i, h := range b.hosts {
		names[i] = h.name
	}
	return fmt.Sprintf("batch %d of %d: %s", b.index+1, len(b.all), shortlist.Names(names, maxNamed))
}

// awaitBatch waits until the batches before b have ended the play. awaitBatch aborts the run when
// all hosts of one of them were lost: the same cause would break the next batch.
func (c *coordinator) awaitBatch(ctx context.Context, h *host, b *batch) error {
	for _, before := range b.all[:b.index] {
		c.mu.Lock()
		if !before.end.open() {
			w := newWaiter(h, before.end.what+before.end.missing())
			before.end.wait(w, barrierCount)
			if err := c.await(ctx, w); err != nil {
				return err
			}
			c.mu.Lock()
		}
		err := before.lost()
		c.mu.Unlock()
		if err != nil {
			h.run.abort(err)
			return err
		}
	}
	return nil
}

// lost returns an error when no host of the batch came to the end of the play, unless all
// were lost before the play.
func (b *batch) lost() error {
	if b.end.count[arrived] > 0 {
		return nil
	}
	for _, h := range b.hosts {
		if h.leftIn == b.play {
			return fmt.Errorf("batch %d of %d of play %q was lost as a whole, so the next does not begin: %s",
				b.index+1, len(b.all), b.play.Name, b.end.lossSummary())
		}
	}
	return nil
}

// startBatch reports whether the caller is the first of the batch.
func (c *coordinator) startBatch(b *batch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !b.begun
	b.begun = true
	return first
}
