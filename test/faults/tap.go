package faults

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"deployer/engine/protocol"
)

// breaker calls do at the at-th frame between controller and agent, in either
// direction, before it forwards the frame.
type breaker struct {
	at   int           // 0: only count
	only protocol.Type // type of the frames that count; 0: all except heartbeats
	do   func()

	mu    sync.Mutex
	count int
	done  bool
}

// arm sets do, unless the breaker has broken a session already.
func (b *breaker) arm(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.done {
		b.do = do
	}
}

var errBroken = errors.New("broken off here")

// frame counts a frame, and reports whether the caller must not forward it. It does
// not count heartbeats, whose number depends on the time.
func (b *breaker) frame(t protocol.Type) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t == protocol.Heartbeat || b.only != 0 && t != b.only {
		return false
	}
	b.count++
	if b.count != b.at {
		return false
	}
	b.done = true
	if b.do != nil {
		go b.do() // do may wait for the caller
	}
	return true
}

func (b *breaker) frames() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// tap finds the frames in one direction of a session.
type tap struct {
	breaker *breaker
	banner  []byte // end of the text before the first frame; nil without such a text
	before  []byte
	header  []byte
	left    int // bytes of the payload that are yet to come
	broken  bool
}

func newTap(b *breaker, banner bool) *tap {
	t := &tap{breaker: b}
	if banner {
		t.banner = []byte(protocol.Banner + "\n")
	}
	return t
}

// pass returns how many bytes of p the caller may forward: all, or those before the
// frame at which the session breaks.
func (t *tap) pass(p []byte) int {
	if t.broken {
		return 0
	}
	begin := 0 // of the frame in p
	for i := 0; i < len(p); {
		switch {
		case t.banner != nil:
			t.before = append(t.before, p[i])
			i++
			if bytes.HasSuffix(t.before, t.banner) {
				t.banner = nil
			}
		case t.left > 0:
			n := min(t.left, len(p)-i)
			t.left -= n
			i += n
		default:
			if len(t.header) == 0 {
				begin = i
			}
			t.header = append(t.header, p[i])
			i++
			if len(t.header) < protocol.HeaderSize {
				continue
			}
			t.left = int(binary.BigEndian.Uint32(t.header))
			kind := protocol.Type(t.header[4] &^ 0x80)
			t.header = t.header[:0]
			if t.broken = t.breaker.frame(kind); t.broken {
				return begin
			}
		}
	}
	return len(p)
}

// tapReader is the agent's input with a tap.
type tapReader struct {
	io.Reader
	tap *tap
}

func (r tapReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if pass := r.tap.pass(p[:n]); pass < n {
		return pass, errBroken
	}
	return n, err
}

// tapWriter is the agent's output with a tap.
type tapWriter struct {
	io.Writer
	tap *tap
}

func (w tapWriter) Write(p []byte) (int, error) {
	n := w.tap.pass(p)
	if n == len(p) {
		return w.Writer.Write(p)
	}
	if n > 0 {
		_, _ = w.Writer.Write(p[:n])
	}
	return n, errBroken
}
