package protocol

import (
	"io"
	"sync"
)

// Stream is the receiving side of one blob: the goroutine that receives frames
// pushes chunks, another one reads them. Stream holds at most Window bytes and grants
// the sender more as they are read.
type Stream struct {
	conn *Conn
	id   uint32

	mu        sync.Mutex
	ready     sync.Cond
	chunks    [][]byte // not read yet
	granted   int      // bytes that the sender may still send
	ungranted int      // bytes read since the last grant
	head      []byte   // unread rest of whole
	whole     []byte   // the chunk being read
	end       error    // io.EOF when all was received
}

// NewStream returns the stream of blob id, with an initial grant of Window bytes.
func NewStream(conn *Conn, id uint32) *Stream {
	s := &Stream{conn: conn, id: id, granted: Window}
	s.ready.L = &s.mu
	return s
}

// Push adds one chunk and never blocks. More bytes than were granted are a
// *Error.
func (s *Stream) Push(chunk []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted -= len(chunk)
	if s.granted < 0 {
		return &Error{Reason: "blob chunk beyond the window"}
	}
	if s.end != nil || len(chunk) == 0 {
		s.conn.Recycle(chunk)
		return nil
	}
	s.chunks = append(s.chunks, chunk)
	s.ready.Signal()
	return nil
}

// End ends the stream after the chunks so far: with io.EOF when err is nil. Only the
// first call counts.
func (s *Stream) End(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	if s.end == nil {
		s.end = err
	}
	s.ready.Broadcast()
}

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(s.head) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.head)
	s.head = s.head[n:]
	if len(s.head) == 0 {
		s.conn.Recycle(s.whole)
		s.whole = nil
	}
	return n, nil
}

// next waits for a chunk, and grants the sender the bytes read, half a window at a
// time. next sends without the lock, as Push must never wait for a send.
func (s *Stream) next() error {
	s.mu.Lock()
	for len(s.chunks) == 0 && s.end == nil {
		s.ready.Wait()
	}
	if len(s.chunks) == 0 {
		defer s.mu.Unlock()
		return s.end
	}
	s.whole, s.head = s.chunks[0], s.chunks[0]
	s.chunks[0] = nil
	s.chunks = s.chunks[1:]
	s.ungranted += len(s.whole)
	grant := 0
	if s.ungranted >= Window/2 && s.end == nil {
		grant, s.ungranted = s.ungranted, 0
		s.granted += grant
	}
	s.mu.Unlock()
	if grant > 0 {
		return s.conn.SendGrant(s.id, grant)
	}
	return nil
}
