package spread

import (
	"iter"
	"slices"
)

func sortedKeys(keys iter.Seq[string]) []string { return slices.Sorted(keys) }

// Weights of a source, in chunks by which the host is later: one for each host between it and
// a complete copy.
const (
	// uploadWeight is that of another host that the source serves: it halves the source's line.
	uploadWeight = 3
	// starvedWeight is that of a host that waited in vain behind the source.
	starvedWeight = 8
	// behindWeight is that of a source that has fewer chunks than the host itself.
	behindWeight = 1000
)

// assign chooses the source of a transfer without one. Only hosts with at least a number of
// chunks are sources.
func (p *Planner) assign(t *transfer, chunks int) {
	if p.blocked || t.host.cutOff {
		t.take(Source{Controller: true}, nil, false)
		return
	}
	if c := p.best(t, true, chunks); c != nil {
		t.take(Source{Peer: c.host.Name}, c, false)
		return
	}
	if t.blob.incoming[t.host.Rack] > 0 {
		return
	}
	if p.maySeed(t) {
		t.take(Source{Controller: true}, nil, true)
		return
	}
	if c := p.best(t, false, chunks); c != nil {
		t.take(Source{Peer: c.host.Name}, c, false)
	}
}

// maySeed reports whether the controller may send the rest of the blob as one of its copies.
func (p *Planner) maySeed(t *transfer) bool {
	b := t.blob
	if b.seeds >= p.limits.Seeds {
		return false
	}
	promised := b.sent + b.chunks - t.have
	for _, other := range b.transfers {
		if other.isCopy {
			promised += b.chunks - other.have
		}
	}
	return promised <= p.limits.Copies*b.chunks
}

// best returns the best source inside or outside of the rack of the host; nil when there is
// none.
func (p *Planner) best(t *transfer, inRack bool, chunks int) *transfer {
	var found *transfer
	lowest := 0
	for _, c := range t.blob.transfers {
		if (c.host.Rack == t.host.Rack) != inRack || c.have < chunks || !p.serves(c, t) {
			continue
		}
		if weight := c.depth() + uploadWeight*c.children + starvedWeight*c.starved + c.lag(t); found == nil || weight < lowest {
			found, lowest = c, weight
		}
	}
	return found
}

// lag returns the weight of a source that has less than the host.
func (t *transfer) lag(of *transfer) int {
	if t.have < of.have {
		return behindWeight
	}
	return 0
}

// serves reports whether a transfer may be the source of another one.
func (p *Planner) serves(c, t *transfer) bool {
	h := c.host
	return c != t && h != t.host && h.listens && h.barred == "" && !h.gone && c.active() &&
		c.children < p.limits.BlobUploads && h.uploads < p.limits.Uploads &&
		!t.refused[h.Name] && !c.follows(t)
}

// follows reports whether t receives its chunks, over any number of hosts, from another transfer.
func (t *transfer) follows(other *transfer) bool {
	for ; t != nil; t = t.parent {
		if t == other {
			return true
		}
	}
	return false
}

// depth returns the number of hosts between a transfer and a complete copy.
func (t *transfer) depth() int {
	n := 0
	for ; t != nil && !t.complete(); t = t.parent {
		n++
	}
	return n
}

// take sets the source of a transfer.
func (t *transfer) take(s Source, parent *transfer, isCopy bool) {
	t.source, t.parent, t.isCopy, t.stalled = s, parent, isCopy, false
	if isCopy {
		t.blob.seeds++
	}
	if parent != nil {
		parent.children++
		parent.host.uploads++
	}
	if parent == nil && isCopy || parent != nil && parent.host.Rack != t.host.Rack {
		t.crosses = true
		t.blob.incoming[t.host.Rack]++
	}
}

// release gives the source of a transfer back.
func (t *transfer) release() {
	if t.isCopy {
		t.blob.seeds--
	}
	if t.parent != nil {
		t.parent.children--
		t.parent.host.uploads--
	}
	t.stopCrossing()
	t.source, t.parent, t.isCopy, t.stalled = Source{}, nil, false, false
}

func (t *transfer) stopCrossing() {
	if t.crosses {
		t.blob.incoming[t.host.Rack]--
		t.crosses = false
	}
}

func (t *transfer) assignment() Assignment {
	return Assignment{Host: t.host.Name, Blob: t.blob.name, Source: t.source}
}

// reassignChildren gives other sources to the hosts that a transfer serves.
func (p *Planner) reassignChildren(t *transfer) []Assignment {
	var orphans []*transfer
	for _, c := range t.blob.transfers {
		if c.parent == t {
			c.release()
			orphans = append(orphans, c)
		}
	}
	var out []Assignment
	for _, c := range orphans {
		p.assign(c, 0)
		out = append(out, c.assignment())
	}
	return out
}

func (p *Planner) assignAllWaiting() []Assignment {
	var out []Assignment
	for _, b := range p.sortedBlobs() {
		out = append(out, p.assignWaiting(b)...)
	}
	return out
}

// assignWaiting assigns sources to waiting hosts, in the order of their requests. When a host
// of a rack finds none, the others of the rack do not look for one.
func (p *Planner) assignWaiting(b *blob) []Assignment {
	var out []Assignment
	full := map[string]bool{}
	for _, t := range b.transfers {
		if t.active() || full[t.host.Rack] && !t.host.cutOff && !p.blocked {
			continue
		}
		p.assign(t, 0)
		if t.source.Waits() {
			full[t.host.Rack] = true
			continue
		}
		out = append(out, t.assignment())
	}
	return out
}
