package tracker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/remote"
	"deployer/engine/spread"
	"deployer/engine/spread/peer"
)

// Host is a host of the run.
type Host struct {
	spread.Host
	Address string // IP address at which other hosts reach it
}

// Blobs has the content that hosts may share.
type Blobs interface {
	// OpenShared returns the zstd form of a blob and its size in bytes. ok is false for content that
	// only the controller should send, such as files of users.
	OpenShared(digest string) (packed io.ReadCloser, size int64, ok bool, err error)
}

// Options configure a Tracker.
type Options struct {
	Hosts          []Host
	Blobs          Blobs
	Port           int   // TCP port of the servers of hosts
	BytesPerSecond int64 // maximum that each host sends to peers
	Emit           func(engine.Event)
}

// minSize is the size in bytes, compressed, from which on a blob is shared. A smaller one costs the
// controller less than the messages about it.
const minSize = 1 << 20

// Tracker plans the distribution of one run. It is safe for concurrent use.
type Tracker struct {
	opts      Options
	authority *authority
	manifests manifests
	addresses map[string]string // by host

	mu         sync.Mutex
	planner    *spread.Planner
	members    map[string]*member // the newest session of each host
	stats      stats
	warned     map[string]bool
	wasBlocked bool
}

// New returns the tracker of a run.
func New(o Options) (*Tracker, error) {
	a, err := newAuthority()
	if err != nil {
		return nil, fmt.Errorf("making the authority for the distribution of blobs: %w", err)
	}
	t := &Tracker{opts: o, authority: a, manifests: manifests{blobs: o.Blobs, minimum: minSize, known: map[string]*manifestResult{}},
		addresses: map[string]string{}, members: map[string]*member{}, warned: map[string]bool{}, stats: newStats()}
	var hosts []spread.Host
	for _, h := range o.Hosts {
		hosts = append(hosts, h.Host)
		t.addresses[h.Name] = net.JoinHostPort(h.Address, strconv.Itoa(o.Port))
	}
	t.planner = spread.NewPlanner(hosts, spread.DefaultLimits())
	return t, nil
}

var _ remote.Peers = (*Tracker)(nil)

// member is one session.
type member struct {
	tracker *Tracker
	host    string

	identity  peer.Identity // guarded by tracker.mu, as all below; empty until the first request
	transfers map[string]*transfer
	left      bool
}

// transfer is a blob with a plan.
type transfer struct {
	plans   chan protocol.PlanMessage // the newest plan that was not sent yet
	size    int64
	chunks  int
	source  spread.Source
	have    int
	origin  map[string]int // chunks by peer; of the controller with the empty name
	waiting *time.Timer    // ends the wait for a source
	done    bool
}

// Attach implements remote.Peers.
func (t *Tracker) Attach(host string) remote.Member {
	return &member{tracker: t, host: host, transfers: map[string]*transfer{}}
}

// begin makes this the session that takes part for its host, with its first request: other sessions
// may only test the connection. It returns false for a session that has ended and for a host that
// others do not reach, and when the network is blocked; t.mu is held.
func (m *member) begin() bool {
	t := m.tracker
	if _, known := t.addresses[m.host]; !known || m.left || t.planner.Blocked() {
		return false
	}
	former := t.members[m.host]
	t.members[m.host] = m
	if former != nil && former != m {
		former.stopTimers()
		t.apply(t.planner.Leave(m.host))
	}
	return true
}

// current reports whether this is the newest session of its host; t.mu is held.
func (m *member) current() bool { return m.tracker.members[m.host] == m }

// Request implements remote.Member.
func (m *member) Request(ctx context.Context, digest string) (first protocol.PlanMessage, later <-chan protocol.PlanMessage, ok bool) {
	t := m.tracker
	manifest, err := t.manifests.get(ctx, digest)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errSmall) {
			t.warnOnce(digest, "", fmt.Sprintf("blob %.12s is not distributed by hosts: %v", digest, err))
		}
		return first, nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !m.begin() {
		return first, nil, false
	}
	if m.identity.Key == nil {
		if m.identity, err = t.authority.identity(m.host); err != nil {
			t.warnLocked("", fmt.Sprintf("no certificate for peers: %v", err))
			return first, nil, false
		}
	}
	who := m.identity
	who.Address, who.BytesPerSecond, who.Now = t.addresses[m.host], t.opts.BytesPerSecond, time.Now()
	tr := &transfer{plans: make(chan protocol.PlanMessage, 1), size: manifest.Size, chunks: manifest.Chunks(), origin: map[string]int{}}
	if old := m.transfers[digest]; old != nil {
		old.stopWaiting()
	}
	m.transfers[digest] = tr
	t.apply(t.planner.Request(m.host, digest, manifest.Chunks()))
	first = <-tr.plans // apply has put it there
	if first.Identity, err = json.Marshal(who); err != nil {
		return first, nil, false
	}
	first.Size, first.Sums = manifest.Size, manifest.Sums
	return first, tr.plans, true
}

// apply sends new sources to hosts; t.mu is held.
func (t *Tracker) apply(all []spread.Assignment) {
	for _, a := range all {
		m := t.members[a.Host]
		if m == nil || m.transfers[a.Blob] == nil {
			continue
		}
		tr := m.transfers[a.Blob]
		tr.source = a.Source
		tr.stopWaiting()
		if a.Source.Waits() {
			tr.waiting = time.AfterFunc(peer.Patience, func() { t.force(m, a.Blob, tr) })
		}
		tr.push(t.message(m.host, a))
	}
	t.noteBlocked()
}

// force has the controller serve a host that has waited for too long.
func (t *Tracker) force(m *member, digest string, tr *transfer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.current() && m.transfers[digest] == tr {
		t.apply(t.planner.Force(m.host, digest))
	}
}

// message returns the plan of an assignment; t.mu is held.
func (t *Tracker) message(host string, a spread.Assignment) protocol.PlanMessage {
	out := protocol.PlanMessage{Controller: a.Source.Controller}
	source := t.members[a.Source.Peer]
	if source == nil {
		return out
	}
	p, err := json.Marshal(peer.Peer{Name: a.Source.Peer, Address: t.addresses[a.Source.Peer], Ticket: peer.Ticket(source.identity.TicketKey, host, a.Blob)})
	if err != nil {
		return protocol.PlanMessage{Controller: true}
	}
	out.Peer = p
	return out
}

// push replaces a plan that was not sent yet; only holders of Tracker.mu call it.
func (tr *transfer) push(m protocol.PlanMessage) {
	select {
	case <-tr.plans:
	default:
	}
	tr.plans <- m
}

func (tr *transfer) stopWaiting() {
	if tr.waiting != nil {
		tr.waiting.Stop()
	}
}

func (m *member) stopTimers() {
	for _, tr := range m.transfers {
		tr.stopWaiting()
	}
}

// Report implements remote.Member.
func (m *member) Report(digest string, r protocol.PlanReport) {
	t := m.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	tr := m.transfers[digest]
	if !m.current() || tr == nil || r.Have < 0 || r.Have > tr.chunks {
		return
	}
	if r.Listening != nil {
		if !*r.Listening {
			t.warnLocked(m.host, fmt.Sprintf("the host cannot serve blobs to others: %s", r.Text))
		}
		t.apply(t.planner.Listening(m.host, *r.Listening))
		return
	}
	if r.Kept {
		tr.have = max(tr.have, r.Have)
		t.apply(t.planner.Keep(m.host, digest, r.Have))
		return
	}
	if r.Have > tr.have {
		t.received(m, digest, tr, r.Have)
		t.apply(t.planner.Progress(m.host, digest, r.Have, time.Duration(r.Took)*time.Microsecond))
	}
	if r.Failed != "" {
		why := spread.Failure(r.Why)
		t.apply(t.planner.Fail(m.host, digest, r.Failed, why))
		t.noteFailure(m.host, r)
	} else if r.Have == 0 && r.Text != "" {
		t.stats.declined[m.host] = r.Text
	}
}

// received counts new chunks and shows the progress; t.mu is held.
func (t *Tracker) received(m *member, digest string, tr *transfer, have int) {
	chunks := have - tr.have
	tr.have = have
	tr.origin[tr.source.Peer] += chunks
	bytes := min(int64(have)*peer.ChunkSize, tr.size)
	t.stats.add(tr.source, int64(chunks)*peer.ChunkSize)
	if !tr.source.Controller { // the session reports its own bytes
		t.opts.Emit(engine.Event{Time: time.Now(), Type: engine.EventTransfer, Host: m.host, Name: digest, Bytes: bytes, Total: tr.size})
	}
	if bytes == tr.size && !tr.done {
		tr.done = true
		t.stats.complete(digest, tr.size)
		t.opts.Emit(engine.Event{Time: time.Now(), Type: engine.EventReceived, Host: m.host, Name: digest, Total: tr.size, Text: describeOrigin(tr.origin)})
	}
}

// Stop implements remote.Member.
func (m *member) Stop(digest string) {
	t := m.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if tr := m.transfers[digest]; tr != nil {
		tr.stopWaiting()
		if m.current() {
			t.apply(t.planner.Abandon(m.host, digest))
		}
	}
}

// Leave implements remote.Member.
func (m *member) Leave() {
	t := m.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	m.stopTimers()
	m.left = true
	if m.current() {
		delete(t.members, m.host)
		t.apply(t.planner.Leave(m.host))
	}
}

// Port returns the port of the servers of hosts.
func (t *Tracker) Port() int { return t.opts.Port }
