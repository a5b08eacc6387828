package wire

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Conn sends and receives messages. Any number of goroutines may send; one
// receives.
type Conn struct {
	end  End
	r    activityReader
	last atomic.Int64 // unix nanoseconds when bytes last arrived

	mu     sync.Mutex // guards what follows
	w      io.Writer
	broken error // of the first failed write; there is none after it

	parts   map[partKey]*[]byte
	pending int // bytes in parts
}

// ChunkSize is the greatest payload of a blob chunk in bytes. It is well below
// MaxFrame so that a result never waits long behind a chunk.
const ChunkSize = 128 << 10

// readBuffer is for small frames: the payload of a large one is read past it.
// Small, as a controller has a thousand of them.
const readBuffer = 4 << 10

// outgoing holds buffers for frames on their way out. All connections share
// them: of a thousand, few send at one moment.
var outgoing = sync.Pool{New: func() any { return new([]byte) }}

// NewConn returns the Conn of an end over the two streams. It starts no goroutine
// and closes nothing. A *bufio.Reader is read as it is, without another buffer.
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

// activityReader notes when bytes arrive. Bytes, not frames: on a slow line one
// frame may take longer than the time after which silence means loss.
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

// IdleTime is how long nothing has arrived.
func (c *Conn) IdleTime() time.Duration {
	return time.Since(time.Unix(0, c.last.Load()))
}

// Send sends one message. The error is a *ProtocolError when the other end does
// not accept it, and nothing was sent then; any other is that of the underlying
// writer, and the connection is of no use after it.
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

// SendJSON sends one message with v as JSON.
func (c *Conn) SendJSON(t Type, id uint32, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding %v: %w", t, err)
	}
	return c.Send(t, id, payload)
}

// sendFrame writes header and payload with one Write, which saves a packet on
// transports that make one of each.
func (c *Conn) sendFrame(t Type, id uint32, payload []byte, unfinished bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return c.broken
	}
	out := outgoing.Get().(*[]byte)
	*out = AppendFrame((*out)[:0], t, id, payload, unfinished)
	// After an error the writer may still read from the buffer.
	if _, c.broken = c.w.Write(*out); c.broken == nil {
		outgoing.Put(out)
	}
	return c.broken
}
