package agenttest

import (
	"encoding/json"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/protocol/codec"
)

// Script returns the bytes that one end sends to the other: frames (protocol.Frame) and raw
// bytes, valid or not.
func Script(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case protocol.Frame:
			rest := p.Payload
			for len(rest) > protocol.MaxFrame {
				out = protocol.AppendFrame(out, p.Type, p.ID, rest[:protocol.MaxFrame], true)
				rest = rest[protocol.MaxFrame:]
			}
			out = protocol.AppendFrame(out, p.Type, p.ID, rest, false)
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

// Frame returns a frame whose payload is the JSON of v.
func Frame(t protocol.Type, id uint32, v any) protocol.Frame {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return protocol.Frame{Type: t, ID: id, Payload: raw}
}

// Segment returns the frame of a segment.
func Segment(id uint32, s engine.Segment) protocol.Frame {
	payload, err := codec.AppendSegment(nil, s)
	if err != nil {
		panic(err)
	}
	return protocol.Frame{Type: protocol.Segment, ID: id, Payload: payload}
}

// Results returns the frame of the results of a segment.
func Results(id uint32, results ...engine.Result) protocol.Frame {
	var payload []byte
	for i := range results {
		var err error
		if payload, err = codec.AppendResult(payload, &results[i]); err != nil {
			panic(err)
		}
	}
	return protocol.Frame{Type: protocol.Result, ID: id, Payload: payload}
}
