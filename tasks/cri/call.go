package cri

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"

	"golang.org/x/net/http2/hpack"
)

// window is the flow-control window in bytes. The list of 110 pods with their
// annotations has about 300 KiB.
const window = 1 << 20

// maxAnswer is the maximum size of a response in bytes, grpc-go's own default.
const maxAnswer = 4 << 20

// call makes one unary gRPC call over a connection of its own and returns the message of
// the response. grpc-go and the generated types of CRI would make the agent half as
// large again; one request needs little of the protocol (grpc/doc/PROTOCOL-HTTP2.md).
func call(ctx context.Context, socket, method string, message []byte) ([]byte, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	e := &exchange{from: bufio.NewReader(conn), to: conn, headers: hpack.NewDecoder(4096, nil)} // the size that both sides begin with
	err = e.ask(method, message)
	for err == nil && !e.over {
		err = e.next()
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", method, context.Cause(ctx))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", method, err)
	case e.status != "0":
		return nil, fmt.Errorf("%s: %s (gRPC status %s)", method, e.text, e.status)
	}
	return unframed(e.body)
}

// exchange is the single stream of a connection.
type exchange struct {
	from    io.Reader
	to      io.Writer
	headers *hpack.Decoder
	block   []byte // of headers, as far as it has come
	ends    bool   // the stream, with that block
	body    []byte
	status  string // of gRPC: a decimal
	text    string // why, when the status is not 0
	over    bool
}

func (e *exchange) ask(method string, message []byte) error {
	var block []byte
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/" + method}, {":authority", "localhost"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} { // each as it is, without an index (RFC 7541, section 6.2.2); all are shorter than 127 bytes
		block = append(block, 0, byte(len(field[0])))
		block = append(append(block, field[0]...), byte(len(field[1])))
		block = append(block, field[1]...)
	}
	settings := binary.BigEndian.AppendUint32([]byte{0, settingInitialWindow}, window)
	data := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...) //nolint:gosec // a request has a few hundred bytes
	out := frame{kind: frameSettings, payload: settings}.appendTo([]byte(preface))
	out = frame{kind: frameHeaders, flags: flagEndHeaders, stream: 1, payload: block}.appendTo(out)
	out = frame{kind: frameData, flags: flagEndStream, stream: 1, payload: data}.appendTo(out)
	_, err := e.to.Write(out)
	return err
}

// next processes one frame.
func (e *exchange) next() error {
	f, err := readFrame(e.from)
	if err != nil {
		return err
	}
	switch f.kind {
	case frameSettings:
		if !f.has(flagAck) {
			return e.send(frame{kind: frameSettings, flags: flagAck})
		}
	case framePing:
		if !f.has(flagAck) {
			return e.send(frame{kind: framePing, flags: flagAck, payload: f.payload})
		}
	case frameHeaders, frameContinuation:
		return e.fields(f)
	case frameData:
		return e.data(f)
	case frameReset:
		return errors.New("the server has reset the call")
	case frameGoAway:
		return errors.New("the server closes the connection")
	}
	return nil
}

func (e *exchange) send(f frame) error {
	_, err := e.to.Write(f.appendTo(nil))
	return err
}

// fields processes headers, which may span several frames; the headers behind the body
// are the trailers with the status.
func (e *exchange) fields(f frame) error {
	content, err := f.content()
	if err != nil {
		return err
	}
	if f.kind == frameHeaders {
		e.ends = f.has(flagEndStream)
	}
	if e.block = append(e.block, content...); len(e.block) > maxFrame {
		return fmt.Errorf("the headers of the answer have more than %d bytes", maxFrame)
	}
	if !f.has(flagEndHeaders) {
		return nil
	}
	all, err := e.headers.DecodeFull(e.block)
	if err != nil {
		return err
	}
	e.block, e.over = nil, e.ends
	for _, field := range all {
		switch field.Name {
		case "grpc-status":
			e.status = field.Value
		case "grpc-message":
			e.text = field.Value
			if plain, err := url.PathUnescape(field.Value); err == nil { // percent-encoded, as the protocol says
				e.text = plain
			}
		}
	}
	return nil
}

func (e *exchange) data(f frame) error {
	content, err := f.content()
	if err != nil {
		return err
	}
	if e.body = append(e.body, content...); len(e.body) > maxAnswer {
		return fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	if e.over = f.has(flagEndStream); e.over || len(f.payload) == 0 {
		return nil
	}
	more := binary.BigEndian.AppendUint32(nil, uint32(len(f.payload))) //nolint:gosec // at most maxFrame
	return errors.Join(
		e.send(frame{kind: frameWindowUpdate, payload: more}),
		e.send(frame{kind: frameWindowUpdate, stream: 1, payload: more}),
	)
}

// unframed returns the message of a gRPC body: a byte with the compression flag, the
// length, the message.
func unframed(body []byte) ([]byte, error) {
	if len(body) < 5 || body[0] != 0 || int(binary.BigEndian.Uint32(body[1:5])) != len(body)-5 {
		return nil, fmt.Errorf("an answer of %d bytes is not one uncompressed message", len(body))
	}
	return body[5:], nil
}
