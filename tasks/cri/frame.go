package cri

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The types and flags of the HTTP/2 frames that one request meets (RFC 9113, section 6),
// and the one setting that is sent.
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameGoAway       = 7
	frameWindowUpdate = 8
	frameContinuation = 9

	flagAck        = 0x1 // of settings and pings
	flagEndStream  = 0x1 // of data and headers
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20

	settingInitialWindow = 4
)

// preface is the connection preface of a client (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// maxFrame is the maximum payload in bytes without a setting of the peer; this client
// never raises it.
const maxFrame = 16384

type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

func (f frame) has(flag byte) bool { return f.flags&flag != 0 }

// appendTo appends the frame to b.
func (f frame) appendTo(b []byte) []byte {
	n := len(f.payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), f.kind, f.flags)
	b = binary.BigEndian.AppendUint32(b, f.stream)
	return append(b, f.payload...)
}

func readFrame(r io.Reader) (frame, error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	if n > maxFrame {
		return frame{}, fmt.Errorf("a frame of %d bytes is too large: this is no HTTP/2", n)
	}
	f := frame{kind: head[3], flags: head[4], stream: binary.BigEndian.Uint32(head[5:]) &^ (1 << 31), payload: make([]byte, n)}
	_, err := io.ReadFull(r, f.payload)
	return f, err
}

// content returns the payload of data or headers without padding and priority.
func (f frame) content() ([]byte, error) {
	p, padding := f.payload, 0
	if f.has(flagPadded) && len(p) > 0 {
		padding, p = int(p[0]), p[1:]
	}
	if f.kind == frameHeaders && f.has(flagPriority) && len(p) >= 5 {
		p = p[5:]
	}
	if padding > len(p) {
		return nil, fmt.Errorf("a frame has %d bytes of padding and %d in all", padding, len(p))
	}
	return p[:len(p)-padding], nil
}
