package spread

// Failure is the reason why a host wants another source.
type Failure string

// The failures of sources.
const (
	// Unreachable: no connection to the source, or none any more.
	Unreachable Failure = "unreachable"
	// Corrupt: a chunk of the source did not have its digest.
	Corrupt Failure = "corrupt"
	// Slow: the source takes much longer for a chunk than others.
	Slow Failure = "slow"
	// Starved: the source had no further chunk for some time. It may wait for its own source.
	Starved Failure = "starved"
)

// maxAccusations is the number of sources that one host can exclude for all others.
const maxAccusations = 2

// maxFailedPeers is the number of peers that a host fails to reach before it counts as cut off
// from all, and the number of hosts that fail to reach one before it is no source.
const maxFailedPeers = 2

// Fail records that the source of a transfer has failed, and assigns another one. A failure of
// a source that is not the present one only counts against it.
func (p *Planner) Fail(name, digest, peer string, why Failure) []Assignment {
	t := p.transfer(name, digest)
	if t == nil || t.complete() {
		return nil
	}
	current := t.parent
	if current == nil || current.host.Name != peer {
		return nil // assigned anew meanwhile
	}
	if why == Starved {
		return p.starve(t)
	}
	if !p.blame(t.host, current.host, why) {
		return []Assignment{t.assignment()} // a host that finds every source slow is slow itself
	}
	t.refused[peer] = true
	t.release()
	p.assign(t, 0)
	out := []Assignment{t.assignment()}
	if current.host.barred != "" {
		out = append(out, p.reassignServedBy(current.host)...)
	}
	return append(out, p.assignAllWaiting()...)
}

// blame draws the conclusions from an accusation; it returns false when the accuser should
// keep its source.
func (p *Planner) blame(accuser, source *host, why Failure) bool {
	if why == Unreachable {
		p.blameNetwork(accuser, source)
		return true
	}
	if accuser.accused >= maxAccusations {
		accuser.cutOff = accuser.cutOff || why == Corrupt
		return why == Corrupt
	}
	accuser.accused++
	source.barred = why
	return true
}

func (p *Planner) blameNetwork(accuser, source *host) {
	if !p.reached && len(accuser.failedPeers) == 0 {
		p.unreached++
		p.blocked = p.unreached >= maxUnreached
	}
	accuser.failedPeers[source.Name], source.unreachedBy[accuser.Name] = true, true
	if !accuser.reachedPeer && len(accuser.failedPeers) >= maxFailedPeers {
		accuser.cutOff = true
	}
	if len(source.unreachedBy) >= maxFailedPeers && (!source.wasReached || len(source.unreachedBy) > maxFailedPeers) {
		source.barred = Unreachable
	}
}

// starve looks for a source with more chunks. When there is none, the host that delays all
// others of the rack no longer keeps them from a source outside.
func (p *Planner) starve(t *transfer) []Assignment {
	culprit := t.parent
	for culprit.parent != nil && culprit.parent.have <= culprit.have+1 {
		culprit = culprit.parent
	}
	culprit.starved++
	culprit.stalled = true
	culprit.stopCrossing()
	former := t.parent
	t.release()
	t.refused[former.host.Name] = true
	if p.assign(t, t.have+1); t.source.Waits() {
		delete(t.refused, former.host.Name)
		if p.serves(former, t) {
			t.take(Source{Peer: former.host.Name}, former, false)
		}
	}
	return append([]Assignment{t.assignment()}, p.assignAllWaiting()...)
}

// reassignServedBy gives other sources to all hosts that a host serves.
func (p *Planner) reassignServedBy(h *host) []Assignment {
	var out []Assignment
	for _, b := range p.sortedBlobs() {
		if t := b.byHost[h.Name]; t != nil {
			out = append(out, p.reassignChildren(t)...)
		}
	}
	return out
}
