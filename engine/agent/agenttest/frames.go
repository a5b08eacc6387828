package agenttest

import (
	"bytes"
	"encoding/json"
	"strings"

	"deployer/engine"
	"deployer/engine/packed"
	"deployer/engine/wire"
)

// Script is what one end sends to the other: frames (wire.Frame) and raw bytes.
func Script(parts ...any) []byte {
	var out bytes.Buffer
	conn := wire.NewConn(strings.NewReader(""), &out)
	for _, p := range parts {
		switch p := p.(type) {
		case wire.Frame:
			if err := conn.Send(p.Type, p.ID, p.Payload); err != nil {
				panic(err)
			}
		case []byte:
			out.Write(p)
		}
	}
	return out.Bytes()
}

// Frame is a frame whose payload is JSON.
func Frame(t wire.Type, id uint32, v any) wire.Frame {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return wire.Frame{Type: t, ID: id, Payload: raw}
}

// Segment is the frame of a segment.
func Segment(id uint32, s engine.Segment) wire.Frame {
	payload, err := packed.AppendSegment(nil, s)
	if err != nil {
		panic(err)
	}
	return wire.Frame{Type: wire.Segment, ID: id, Payload: payload}
}

// Results is the frame of the results of a segment.
func Results(id uint32, results ...engine.Result) wire.Frame {
	var payload []byte
	for i := range results {
		var err error
		if payload, err = packed.AppendResult(payload, &results[i]); err != nil {
			panic(err)
		}
	}
	return wire.Frame{Type: wire.Result, ID: id, Payload: payload}
}
