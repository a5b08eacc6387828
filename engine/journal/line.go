package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"deployer/engine"
)

// AppendHeader appends the line of a header, in the present format.
func AppendHeader(out []byte, h Header) ([]byte, error) {
	h.Format = Format
	text, err := plainJSON(line{Header: &h})
	return append(append(out, text...), '\n'), err
}

// Progress reports whether an event only shows progress, which no journal contains.
func Progress(e engine.EventType) bool {
	return e == engine.EventTransfer || e == engine.EventStepText
}

var copyBuffers = sync.Pool{New: func() any { return &lineBuffer{brief: true} }}

// AppendCopy appends the line of an event for a copy of the journal on another machine:
// without the output of the step, as in the journal, and without diffs, because diffs show
// the content of files of other hosts. The copy has times of events to the
// millisecond, durations to the microsecond, and no start times of steps by the clocks of
// hosts: such digits compress badly and are most of the size.
func AppendCopy(out []byte, e engine.Event) ([]byte, error) {
	m := copyBuffers.Get().(*lineBuffer)
	defer copyBuffers.Put(m)
	text, err := m.encode(e)
	return append(out, text...), err
}

// DecodeStrict decodes a line that is not trusted: unknown keys, and lines that are
// neither a header nor an event, are errors.
func DecodeStrict(text []byte) (*Header, *engine.Event, error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	var l line
	if err := in.Decode(&l); err != nil {
		return nil, nil, err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("more than one value in a line")
	}
	if (l.Header == nil) == (l.Event == nil) {
		return nil, nil, errors.New("neither a header nor an event")
	}
	complete(l.Event)
	return l.Header, l.Event, nil
}
