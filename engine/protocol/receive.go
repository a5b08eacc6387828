package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxParts is the maximum number of unfinished messages; a handful is usual.
const maxParts = 1024

type partKey struct {
	t  Type
	id uint32
}

// Receive returns the next whole message. At the end of the stream it returns io.EOF
// between two messages and io.ErrUnexpectedEOF within one. Bytes that are no message
// are a *Error. After any error the connection is unusable.
//
// The caller owns the payload and may give it back with Recycle.
func (c *Conn) Receive() (Frame, error) {
	for {
		f, unfinished, err := c.receiveFrame()
		if err != nil {
			return Frame{}, err
		}
		key := partKey{f.Type, f.ID}
		part := c.parts[key]
		if part == nil && !unfinished {
			return f, nil
		}
		if part == nil {
			if len(c.parts) == maxParts {
				return Frame{}, &Error{Reason: fmt.Sprintf("more than %d unfinished messages", maxParts)}
			}
			part = new([]byte)
			c.parts[key] = part
		}
		if err := c.end.accepts(f.Type, len(*part)+len(f.Payload)); err != nil {
			return Frame{}, err
		}
		c.pending += len(f.Payload)
		if c.pending > maxPending[c.end] {
			return Frame{}, &Error{Reason: fmt.Sprintf("more than %d bytes of unfinished messages", maxPending[c.end])}
		}
		*part = append(*part, f.Payload...)
		if unfinished {
			continue
		}
		delete(c.parts, key)
		c.pending -= len(*part)
		return Frame{Type: f.Type, ID: f.ID, Payload: *part}, nil
	}
}

func (c *Conn) receiveFrame() (Frame, bool, error) {
	var h [HeaderSize]byte
	if _, err := io.ReadFull(c.r, h[:]); err != nil {
		return Frame{}, false, err
	}
	t, id, n, unfinished, err := parseHeader(h[:])
	if err == nil {
		err = c.end.accepts(t, n)
	}
	if err != nil {
		return Frame{}, false, err
	}
	// Empty unfinished frames could fill the table at no cost.
	if unfinished && n == 0 {
		return Frame{}, false, &Error{Reason: fmt.Sprintf("empty part of a %v message", t)}
	}
	payload := buffer(t, n)
	if _, err := io.ReadFull(c.r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, false, err
	}
	return Frame{Type: t, ID: id, Payload: payload}, unfinished, nil
}

// smallPayload is the capacity in bytes of buffers for payloads that are no chunks;
// most results fit.
const smallPayload = 4 << 10

// resultsPayload is the capacity in bytes of buffers for batched results, which are
// decoded at once and recycled.
const resultsPayload = 16 << 10

// chunks, results and smalls hold the recycled payloads of all connections.
var (
	chunks  = sync.Pool{New: func() any { b := make([]byte, ChunkSize); return &b }}
	results = sync.Pool{New: func() any { b := make([]byte, resultsPayload); return &b }}
	smalls  = sync.Pool{New: func() any { b := make([]byte, smallPayload); return &b }}
)

func buffer(t Type, n int) []byte {
	switch {
	case n == 0:
		return nil
	case t == BlobChunk && n <= ChunkSize && n > ChunkSize/4:
		return (*chunks.Get().(*[]byte))[:n]
	case t == Result && n <= resultsPayload && n > smallPayload:
		return (*results.Get().(*[]byte))[:n]
	case n <= smallPayload && n > smallPayload/16:
		return (*smalls.Get().(*[]byte))[:n]
	}
	return make([]byte, n)
}

// Recycle gives a payload back for reuse. The caller must not use it, or anything
// that shares its bytes, after that.
func (c *Conn) Recycle(payload []byte) {
	payload = payload[:cap(payload)]
	switch cap(payload) {
	case ChunkSize:
		chunks.Put(&payload)
	case resultsPayload:
		results.Put(&payload)
	case smallPayload:
		smalls.Put(&payload)
	}
}

// Decode decodes the JSON payload of the frame; the error is a *Error.
func (f Frame) Decode(into any) error {
	if err := json.Unmarshal(f.Payload, into); err != nil {
		return &Error{Reason: fmt.Sprintf("%v message: %v", f.Type, err)}
	}
	return nil
}
