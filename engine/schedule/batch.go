package schedule

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/engine/program"
)

// batch is a part of a serial play's hosts: they go through the play together,
// once the batches before theirs have ended it.
type batch struct {
	play  *program.Play
	all   []*batch // of the play
	index int      // in all
	hosts []*host
	end   *syncPoint // the end of the play; every host ends up on one side of it
	begun bool       // guarded by the coord's lock
}

// cutBatches tells each host its batch in every serial play. Batches are cut
// from all hosts of the play, in inventory order, before the run: that a host is
// lost meanwhile moves no other into an earlier batch.
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

// title names the batch and its hosts.
func (b *batch) title() string {
	names := make([]string, len(b.hosts))
	for i, h := range b.hosts {
		names[i] = h.name
	}
	return fmt.Sprintf("batch %d of %d: %s", b.index+1, len(b.all), listed(names))
}

// awaitBatch waits until the batches before b have ended the play. The run is aborted
// when one of them was lost as a whole: what broke it would break the next.
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

// lost tells that no host of the batch came to the end of the play, and that not
// all of them had been lost before it.
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

// startBatch is true for the first host of the batch that asks.
func (c *coordinator) startBatch(b *batch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !b.begun
	b.begun = true
	return first
}
