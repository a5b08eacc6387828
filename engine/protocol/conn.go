package protocol

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Conn sends and receives messages. Any number of goroutines may send; one receives.
type Conn struct {
	end  End
	r    activityReader
	last atomic.Int64 // unix nanoseconds when bytes last arrived

	mu     sync.Mutex // guards w and broken
	w      io.Writer
	broken error // error of the first failed write; no write follows

	parts   map[partKey]*[]byte
	pending int // bytes in parts
}

// ChunkSize is the maximum payload of a blob chunk in bytes, well below MaxFrame so
// that a result never waits long behind a chunk.
const ChunkSize = 128 << 10

// readBuffer is the size of the read buffer in bytes, for small frames; large
// payloads bypass it. readBuffer is small because a controller has a thousand connections.
const readBuffer = 4 << 10

// outgoing holds buffers for frames that are being sent. All connections share them,
// as few send at one moment.
var outgoing = sync.Pool{New: func() any { return new([]byte) }}

// NewConn returns a connection that acts as end over the two streams. NewConn starts no
// goroutine and closes nothing. A *bufio.Reader is used without another buffer.
func NewConn(r io.Reader, w io.Writer, end End) *Conn {
	c := &Conn{end: end, w: w, parts: map[partKey]*[]byte{}}
	c.last.Store(time.Now().UnixNano())
	buffered, ok := r.(*bufio.Reader)
	if !ok {
		buffered = bufio.NewReaderSize(r, readBuffer)
	}
	c.r = activityReader{buffered, &c.last}
	return c
}

// activityReader records when bytes arrive. activityReader counts bytes and not frames, because
// one frame may take longer than the idle timeout on a slow line.
type activityReader struct {
	r    *bufio.Reader
	last *atomic.Int64
}

func (a activityReader) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if n > 0 {
		a.last.Store(time.Now().UnixNano())
	}
	return n, err
}

// IdleTime returns the time since the last byte arrived.
func (c *Conn) IdleTime() time.Duration {
	return time.Since(time.Unix(0, c.last.Load()))
}

// Send sends one message. A *Error says that the other end does not accept
// the message, and nothing was sent. Any other error is that of the writer, and the
// connection is unusable after it.
func (c *Conn) Send(t Type, id uint32, payload []byte) error {
	if err := c.end.other().accepts(t, len(payload)); err != nil {
		return err
	}
	for {
		part := payload
		if len(part) > MaxFrame {
			part = part[:MaxFrame]
		}
		payload = payload[len(part):]
		if err := c.sendFrame(t, id, part, len(payload) > 0); err != nil {
			return fmt.Errorf("sending %v: %w", t, err)
		}
		if len(payload) == 0 {
			return nil
		}
	}
}

// SendJSON sends one message with v as JSON; see Send.
func (c *Conn) SendJSON(t Type, id uint32, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding %v: %w", t, err)
	}
	return c.Send(t, id, payload)
}

// sendFrame writes header and payload with one Write, which saves a packet on
// transports that send one packet for each Write.
func (c *Conn) sendFrame(t Type, id uint32, payload []byte, unfinished bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return c.broken
	}
	out := outgoing.Get().(*[]byte)
	*out = AppendFrame((*out)[:0], t, id, payload, unfinished)
	// After an error the writer may still read from the buffer, so it is not reused.
	if _, c.broken = c.w.Write(*out); c.broken == nil {
		outgoing.Put(out)
	}
	return c.broken
}
