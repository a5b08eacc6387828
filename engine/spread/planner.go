package spread

import (
	"maps"
	"time"
)

// Limits bound what a Planner plans.
type Limits struct {
	// BlobUploads is the maximum number of hosts that one host serves with one blob at a time.
	BlobUploads int
	// Uploads is the maximum number of transfers that one host serves at a time, of all blobs.
	Uploads int
	// Seeds is the maximum number of hosts that receive one blob from the controller at a time.
	Seeds int
	// Copies is the maximum number of copies of one blob that the controller sends to hosts that
	// can reach other hosts.
	Copies int
}

// DefaultLimits returns the limits of runs. A host that serves two others sends each half of
// its line; so does a controller with two seeds, and the tree is as fast as its root.
func DefaultLimits() Limits { return Limits{BlobUploads: 2, Uploads: 4, Seeds: 2, Copies: 5} }

// Host is a host of a run.
type Host struct {
	Name string
	Rack string // hosts of one rack reach each other without the core of the network
}

// Source is the place from which a host takes the next chunks of a blob. The zero value
// means that the host waits for another assignment.
type Source struct {
	Peer       string // name of a host
	Controller bool
}

// Waits reports whether there is no source yet.
func (s Source) Waits() bool { return s == Source{} }

// Assignment tells one host the source of one blob. It replaces the former one.
type Assignment struct {
	Host, Blob string
	Source     Source
}

// Planner has the state of all transfers of a run. It is not safe for concurrent use.
type Planner struct {
	limits Limits
	hosts  map[string]*host
	blobs  map[string]*blob
	// unreached counts the hosts that could not reach a peer while nobody has reached any.
	unreached int
	reached   bool // some host has received a chunk from a peer
	blocked   bool
	durations durations // of chunks from peers
}

// maxUnreached is the number of hosts that fail to reach their first peer before the network
// counts as one that does not let peers connect.
const maxUnreached = 5

// host is the state of a host.
type host struct {
	Host
	listens bool    // its server accepts connections
	barred  Failure // why it is no source again; empty when it may be one
	cutOff  bool    // it reaches no peers: the controller serves it
	gone    bool    // its session has ended
	uploads int     // transfers that it serves

	accused     int             // accusations by this host that excluded a source
	failedPeers map[string]bool // peers that it could not reach
	unreachedBy map[string]bool // hosts that could not reach it
	reachedPeer bool            // it has received a chunk from a peer
	wasReached  bool            // a host has received a chunk from it
}

// blob is the state of one blob.
type blob struct {
	name      string
	chunks    int
	transfers []*transfer          // in the order of requests
	byHost    map[string]*transfer // by name of the host
	seeds     int                  // transfers from the controller in flight
	sent      int                  // chunks that the controller has sent as copies
	fallback  int                  // chunks that it has sent to hosts that no peer could serve
	incoming  map[string]int       // by rack, transfers in flight from outside of it
}

// transfer is one blob on its way to one host, or complete there.
type transfer struct {
	host     *host
	blob     *blob
	have     int // leading chunks that the host has verified
	source   Source
	parent   *transfer // of source.Peer
	children int       // transfers that it serves
	crosses  bool      // it counts in blob.incoming
	isCopy   bool      // it counts in blob.seeds
	stalled  bool      // hosts behind it have waited in vain
	starved  int       // number of such hosts
	refused  map[string]bool
}

func (t *transfer) complete() bool { return t.have == t.blob.chunks }

// active reports whether chunks arrive or have arrived, so that others may follow.
func (t *transfer) active() bool { return t.complete() || !t.source.Waits() }

// NewPlanner returns a planner for the hosts of a run.
func NewPlanner(hosts []Host, limits Limits) *Planner {
	p := &Planner{limits: limits, hosts: map[string]*host{}, blobs: map[string]*blob{}}
	for _, h := range hosts {
		p.hosts[h.Name] = &host{Host: h, failedPeers: map[string]bool{}, unreachedBy: map[string]bool{}}
	}
	return p
}

// Blocked reports whether the network does not let hosts connect to each other: then the
// controller sends all blobs.
func (p *Planner) Blocked() bool { return p.blocked }

// CutOff reports whether a host cannot reach peers, so that the controller sends its blobs.
func (p *Planner) CutOff(name string) bool { return p.hosts[name] != nil && p.hosts[name].cutOff }

// Excluded returns the hosts that are no sources again, each with the reason.
func (p *Planner) Excluded() map[string]Failure {
	out := map[string]Failure{}
	for name, h := range p.hosts {
		if h.barred != "" {
			out[name] = h.barred
		}
	}
	return out
}

// Sent returns the numbers of chunks of a blob that the controller has sent: as copies for
// others, and to hosts that no peer could serve.
func (p *Planner) Sent(name string) (copies, fallback int) {
	if b := p.blobs[name]; b != nil {
		return b.sent, b.fallback
	}
	return 0, 0
}

// Request adds the transfer of a blob with a number of chunks. A host that requests a blob again
// loses the state of the former transfer, unless it was complete in the same session.
func (p *Planner) Request(name, digest string, chunks int) []Assignment {
	h := p.hosts[name]
	if h == nil || chunks < 1 {
		return nil
	}
	b := p.blobs[digest]
	if b == nil {
		b = &blob{name: digest, chunks: chunks, byHost: map[string]*transfer{}, incoming: map[string]int{}}
		p.blobs[digest] = b
	}
	if old := b.byHost[name]; old != nil && old.complete() && !h.gone {
		return []Assignment{old.assignment()}
	}
	h.gone = false
	out := p.remove(b.byHost[name])
	t := &transfer{host: h, blob: b, refused: map[string]bool{}}
	b.transfers, b.byHost[name] = append(b.transfers, t), t
	p.assign(t, 0)
	return append(append(out, t.assignment()), p.assignWaiting(b)...)
}

// Listening records whether the host accepts connections of peers.
func (p *Planner) Listening(name string, listens bool) []Assignment {
	h := p.hosts[name]
	if h == nil || h.listens == listens {
		return nil
	}
	h.listens = listens
	return p.assignAllWaiting()
}

// Progress records that a host has verified the first chunks of a blob. took is the longest
// transfer of a chunk since the former progress, without the wait for its begin; a source that
// takes much longer than others is replaced.
func (p *Planner) Progress(name, digest string, have int, took time.Duration) []Assignment {
	t := p.transfer(name, digest)
	if t == nil || have <= t.have || have > t.blob.chunks {
		return nil
	}
	p.count(t, have-t.have)
	t.have = have
	if t.complete() {
		t.release()
		return p.assignAllWaiting()
	}
	if t.parent != nil && p.durations.isSlow(took) {
		return p.Fail(name, digest, t.parent.host.Name, Slow)
	}
	if t.parent != nil {
		p.durations.add(took)
	}
	return nil
}

// Keep records chunks that the host has of an earlier session.
func (p *Planner) Keep(name, digest string, have int) []Assignment {
	t := p.transfer(name, digest)
	if t == nil || have <= t.have || have > t.blob.chunks {
		return nil
	}
	t.have = have
	if t.complete() {
		t.release()
	}
	return p.assignAllWaiting()
}

// count records the origin of new chunks.
func (p *Planner) count(t *transfer, chunks int) {
	switch {
	case t.source.Controller && t.isCopy:
		t.blob.sent += chunks
	case t.source.Controller:
		t.blob.fallback += chunks
	case t.parent != nil:
		p.reached, t.host.reachedPeer, t.parent.host.wasReached = true, true, true
	}
}

// Force assigns the controller to a host that has waited too long.
func (p *Planner) Force(name, digest string) []Assignment {
	t := p.transfer(name, digest)
	if t == nil || t.complete() || !t.source.Waits() {
		return nil
	}
	t.take(Source{Controller: true}, nil, false)
	return append([]Assignment{t.assignment()}, p.assignWaiting(t.blob)...)
}

// Leave records that the session of a host has ended: it serves nobody, and nothing is sent
// to it. Its requests start anew when it comes back.
func (p *Planner) Leave(name string) []Assignment {
	h := p.hosts[name]
	if h == nil {
		return nil
	}
	h.gone, h.listens = true, false
	var out []Assignment
	for _, b := range p.sortedBlobs() {
		out = append(out, p.remove(b.byHost[name])...)
	}
	return append(out, p.assignAllWaiting()...)
}

// Abandon ends a transfer that its host no longer wants.
func (p *Planner) Abandon(name, digest string) []Assignment {
	t := p.transfer(name, digest)
	if t == nil || t.complete() {
		return nil
	}
	return append(p.remove(t), p.assignAllWaiting()...)
}

// remove ends a transfer and assigns other sources to the hosts that it served.
func (p *Planner) remove(t *transfer) []Assignment {
	if t == nil {
		return nil
	}
	t.release()
	delete(t.blob.byHost, t.host.Name)
	for i, other := range t.blob.transfers {
		if other == t {
			t.blob.transfers = append(t.blob.transfers[:i:i], t.blob.transfers[i+1:]...)
			break
		}
	}
	return p.reassignChildren(t)
}

func (p *Planner) transfer(name, digest string) *transfer {
	if b := p.blobs[digest]; b != nil {
		return b.byHost[name]
	}
	return nil
}

func (p *Planner) sortedBlobs() []*blob {
	out := make([]*blob, 0, len(p.blobs))
	for _, name := range sortedKeys(maps.Keys(p.blobs)) {
		out = append(out, p.blobs[name])
	}
	return out
}
