package record

import (
	"context"
	"time"

	"deployer/engine/protocol"
)

// Keeper is a session with a host that keeps records; remote.Session implements it.
type Keeper interface {
	// AppendRecord appends data to the record of a run when the record ends at offset, and
	// returns the size of the record. AppendRecord returns when the data is on the disk.
	AppendRecord(ctx context.Context, run string, offset int64, data []byte) (size int64, err error)
	// Lost returns a channel that is closed when the session has ended.
	Lost() <-chan struct{}
}

// retryInterval is the time between two attempts to write to a keeper that cannot write, for
// example because its disk is full.
const retryInterval = 20 * time.Second

// maxMismatches is the maximum number of times that a keeper's record may have another size
// than expected. Beyond it the host does not report true sizes, and is not used any more.
const maxMismatches = 3

// keeper sends the record to one host.
type keeper struct {
	recorder *Recorder
	host     string
	failed   bool               // could not write when it was attached
	detach   context.CancelFunc // ends the goroutine of the session; nil before the first
	over     chan struct{}      // closed when that goroutine has ended
}

// attach sends the record over a new session, in a goroutine. recorder.mu is held.
func (k *keeper) attach(session any) {
	if k.detach != nil {
		k.detach()
	}
	s, ok := session.(Keeper)
	if !ok {
		k.fail()
		return
	}
	var ctx context.Context
	ctx, k.detach = context.WithCancel(k.recorder.ctx)
	before, over := k.over, make(chan struct{})
	k.over = over
	k.recorder.idle.Go(func() {
		defer close(over)
		if before != nil {
			<-before // one session at a time appends
		}
		k.serve(ctx, s)
	})
}

// fail records that the keeper cannot write. When none can, the run does not wait for
// them. recorder.mu is held.
func (k *keeper) fail() {
	k.failed = true
	n := 0
	for _, other := range k.recorder.keepers {
		if other.failed {
			n++
		}
	}
	if n == len(k.recorder.Keepers) {
		go k.recorder.beginWithout()
	}
}

// serve appends to the host's record until the recorder has ended and all is written, or
// the session is lost.
func (k *keeper) serve(ctx context.Context, s Keeper) {
	run, mismatches, last := k.recorder.Header.Run, 0, false
	offset, err := s.AppendRecord(ctx, run, 0, nil) // the size of what an earlier session has written
	for {
		if err != nil {
			if isLost(s) || last {
				return
			}
			k.cannotWrite()
			last = k.recorder.pause(ctx, s)
		} else if offset >= k.recorder.size {
			k.recorder.begin()
		}
		part, more := k.recorder.next(ctx, offset)
		if !more {
			return
		}
		var size int64
		if size, err = s.AppendRecord(ctx, run, offset, part); err != nil {
			continue
		}
		if size != offset+int64(len(part)) {
			if mismatches++; mismatches > maxMismatches {
				k.cannotWrite()
				return
			}
		}
		offset = size
	}
}

func isLost(s Keeper) bool {
	select {
	case <-s.Lost():
		return true
	default:
		return false
	}
}

// pause waits before the next attempt to write, until retryInterval has passed or
// the session or the recorder has ended. pause reports whether the recorder has ended; the next
// attempt is then the last.
func (r *Recorder) pause(ctx context.Context, s Keeper) (ended bool) {
	limit := time.NewTimer(retryInterval)
	defer limit.Stop()
	for {
		r.mu.Lock()
		grown, ended := r.grown, r.ended
		r.mu.Unlock()
		if ended {
			return true
		}
		select {
		case <-grown:
		case <-limit.C:
			return false
		case <-s.Lost():
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// cannotWrite is fail without the lock.
func (k *keeper) cannotWrite() {
	k.recorder.mu.Lock()
	defer k.recorder.mu.Unlock()
	k.fail()
}

// next waits for data after offset and returns the next part of it. more is false when no
// more data will come, or when the host's record is longer than the data.
func (r *Recorder) next(ctx context.Context, offset int64) (part []byte, more bool) {
	for {
		r.mu.Lock()
		data, grown, ended := r.data, r.grown, r.ended
		r.mu.Unlock()
		switch size := int64(len(data)); {
		case offset > size:
			return nil, false
		case offset < size:
			return data[offset:min(size, offset+protocol.RecordPart)], true
		case ended:
			return nil, false
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, false
		}
	}
}
