package agenttest

import (
	"bytes"
	"encoding/json"
	"strings"

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
