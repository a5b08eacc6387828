package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/journal"
)

// Intervals and limits of a recorder.
const (
	// chunkInterval is the time between two chunks.
	chunkInterval = time.Second
	// chunkText is the size of the waiting lines, in bytes, that makes a chunk at once.
	chunkText = 1 << 20
	// beginWait is the maximum time that a run waits until a keeper has its header, and
	// endWait the maximum time until all connected keepers have its outcome.
	beginWait = 3 * time.Second
	endWait   = 5 * time.Second
)

// Options describe the record of a run.
type Options struct {
	Header journal.Header
	// Plan is the content of the file of the plan that the run applies; nil for none. A plan
	// of more than 16 MiB is left out.
	Plan []byte
	// Keepers are the hosts that keep the record.
	Keepers []string
	// Warn is called, at most once, when no keeper has the header before the run changes
	// hosts.
	Warn func(text string)
}

// Recorder writes the record of a run to its keepers. Recorder is an engine.Sink.
type Recorder struct {
	Options

	packing sync.Mutex // held while lines become chunks, so that they stay in order

	mu      sync.Mutex
	data    []byte        // the record so far
	grown   chan struct{} // closed when data grows or the recorder ends
	waiting []byte        // lines that are in no chunk yet
	spare   []byte        // memory for waiting; the lines that flush packs
	full    bool          // lines were left out
	ended   bool
	keepers map[string]*keeper
	timeout *time.Timer // of beginWait; nil until the first Attach
	size    int64       // bytes of data with the header

	more     chan struct{} // asks for a chunk at once
	begun    chan struct{} // closed when the run may change hosts
	beginOne sync.Once
	stop     context.CancelFunc
	ctx      context.Context // of all goroutines
	idle     sync.WaitGroup
}

// New returns a recorder with the header and the plan as its first chunk. Close must be
// called.
func New(o Options) (*Recorder, error) {
	r := &Recorder{Options: o, grown: make(chan struct{}), keepers: map[string]*keeper{}, more: make(chan struct{}, 1), begun: make(chan struct{})}
	lines, err := journal.AppendHeader(nil, o.Header)
	if err != nil {
		return nil, fmt.Errorf("encoding the header of the run's record: %w", err)
	}
	if with, err := appendPlan(lines, o.Plan); o.Plan != nil && err == nil && len(with) <= maxChunk {
		lines = with
	}
	r.data = appendChunk(appendFormat(nil), lines)
	r.size = int64(len(r.data))
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.idle.Go(r.makeChunks)
	return r, nil
}

// planLine is the line with the file of a plan.
type planLine struct {
	Plan string `json:"plan"`
}

func appendPlan(out, plan []byte) ([]byte, error) {
	text, err := json.Marshal(planLine{string(plan)})
	return append(append(out, text...), '\n'), err
}

// Emit implements engine.Sink. Emit waits for no keeper.
func (r *Recorder) Emit(e engine.Event) {
	if journal.Progress(e.Type) || e.Type == engine.EventWait {
		return // journals contain no progress
	}
	last := e.Type == engine.EventRunEnd
	if last {
		r.flush(MaxSize - reserved) // so that the outcome is a chunk of its own
	}
	r.addLine(e, last)
	if last {
		r.flush(MaxSize)
	}
}

// lineBuffers holds memory for encoded lines.
var lineBuffers = sync.Pool{New: func() any { return new([]byte) }}

// addLine adds the line of an event to the waiting ones.
func (r *Recorder) addLine(e engine.Event, last bool) {
	// The line is encoded without the lock, which all hosts of the run share.
	buffer := lineBuffers.Get().(*[]byte)
	defer lineBuffers.Put(buffer)
	line, err := journal.AppendCopy((*buffer)[:0], e)
	*buffer = line
	if err != nil {
		return // a year outside of 0 to 9999 has no RFC 3339 form
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.full && !last {
		return
	}
	r.waiting = append(r.waiting, line...)
	if len(r.waiting) > chunkText {
		select {
		case r.more <- struct{}{}:
		default:
		}
	}
}

// makeChunks makes a chunk of the waiting lines at intervals.
func (r *Recorder) makeChunks() {
	tick := time.NewTicker(chunkInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.more:
		case <-r.ctx.Done():
			return
		}
		r.flush(MaxSize - reserved)
	}
}

// flush makes chunks of the waiting lines, unless the record would exceed the limit. flush
// packs them without r.mu, for which all hosts of the run wait.
func (r *Recorder) flush(limit int) {
	r.packing.Lock()
	defer r.packing.Unlock()
	r.mu.Lock()
	lines := r.waiting
	r.waiting, r.spare = r.spare, lines[:0]
	r.mu.Unlock()
	if len(lines) == 0 {
		return
	}
	var packed []byte
	for len(lines) > 0 {
		n := len(lines)
		if n > maxChunk {
			n = 1 + bytes.LastIndexByte(lines[:maxChunk], '\n')
		}
		if n == 0 {
			break // no line has more bytes than maxChunk
		}
		packed, lines = appendChunk(packed, lines[:n]), lines[n:]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.data)+len(packed) > limit {
		r.full = true
		return
	}
	r.data = append(r.data, packed...)
	r.announce()
}

// announce wakes the goroutines that wait for data or for the end. r.mu is held.
func (r *Recorder) announce() {
	close(r.grown)
	r.grown = make(chan struct{})
}

// Attach gives the recorder a new session with a host, which it uses until the session is
// lost or the recorder is closed. Attach returns when the host may be changed: when a keeper
// has the header, after beginWait, or at once when the run may change hosts already.
func (r *Recorder) Attach(ctx context.Context, host string, session any) {
	r.mu.Lock()
	if r.timeout == nil {
		r.timeout = time.AfterFunc(beginWait, r.beginWithout)
	}
	if slices.Contains(r.Keepers, host) && !r.ended {
		k := r.keepers[host]
		if k == nil {
			k = &keeper{recorder: r, host: host}
			r.keepers[host] = k
		}
		k.attach(session)
	}
	r.mu.Unlock()
	select {
	case <-r.begun:
	case <-ctx.Done():
	}
}

// begin lets the run change hosts.
func (r *Recorder) begin() { r.beginOne.Do(func() { close(r.begun) }) }

// beginWithout lets the run change hosts although no keeper has the header.
func (r *Recorder) beginWithout() {
	r.beginOne.Do(func() {
		defer close(r.begun)
		if r.Warn != nil {
			r.Warn(fmt.Sprintf("no host has a record of this run yet (%s): until one has, the run can only be continued from this machine", strings.Join(r.Keepers, ", ")))
		}
	})
}

// Close waits until the keepers that are connected have the whole record, at most
// endWait, and ends all goroutines. The sessions must be open until then.
func (r *Recorder) Close() {
	r.flush(MaxSize)
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return
	}
	r.ended = true
	r.announce()
	if r.timeout != nil {
		r.timeout.Stop()
	}
	var serving sync.WaitGroup
	for _, k := range r.keepers {
		if over := k.over; over != nil {
			serving.Go(func() { <-over })
		}
	}
	r.mu.Unlock()
	limit := time.AfterFunc(endWait, r.stop)
	serving.Wait()
	limit.Stop()
	r.stop()
	r.begin()
	r.idle.Wait()
}
