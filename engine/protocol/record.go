package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// RecordPart is the maximum number of bytes of a record in one message: as small as a
// blob chunk, so that no result waits long behind it.
const RecordPart = ChunkSize

// RecordVerb is the request of a Record message.
type RecordVerb string

// The verbs of Record messages.
const (
	RecordAppend RecordVerb = "append" // append Data at Offset
	RecordRead   RecordVerb = "read"   // return the bytes from Offset on, at most RecordPart
	RecordList   RecordVerb = "list"   // list the records of the host
)

// RecordMessage appends to, reads or lists the records that the host keeps of runs, or
// answers that. The bytes of a record are opaque to the agent.
type RecordMessage struct {
	Verb RecordVerb `json:"verb,omitempty"`
	Run  string     `json:"run,omitempty"`
	// Offset is the place of Data in the record.
	Offset int64 `json:"offset,omitempty"`
	// Size is the size of the record in bytes, in answers to append and read. When it
	// differs from the Offset of an append, nothing was written.
	Size    int64         `json:"size,omitempty"`
	Records []RecordEntry `json:"records,omitempty"` // answers list
	// Holder is the JSON of the lock.Holder that holds the run lock of the host, in
	// answers to list; empty when nobody does.
	Holder json.RawMessage `json:"holder,omitempty"`
	Error  string          `json:"error,omitempty"`

	Data []byte `json:"-"` // follows the JSON
}

// RecordEntry is a record in a list.
type RecordEntry struct {
	Run      string    `json:"run"`
	Size     int64     `json:"size"`     // bytes
	Modified time.Time `json:"modified"` // by the clock of the host
}

// SendRecord sends a Record or RecordReply message: a line of JSON, and behind it the
// data.
func (c *Conn) SendRecord(t Type, id uint32, m RecordMessage) error {
	head, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding %v: %w", t, err)
	}
	return c.Send(t, id, append(append(head, '\n'), m.Data...))
}

// RecordMessage decodes the payload of the frame. The data shares its bytes. The error
// is a *Error.
func (f Frame) RecordMessage() (RecordMessage, error) {
	var m RecordMessage
	head, data, found := bytes.Cut(f.Payload, []byte{'\n'})
	if !found {
		return m, &Error{Reason: fmt.Sprintf("%v message without the end of its first line", f.Type)}
	}
	if err := json.Unmarshal(head, &m); err != nil {
		return m, &Error{Reason: fmt.Sprintf("%v message: %v", f.Type, err)}
	}
	if len(data) > RecordPart || m.Offset < 0 || m.Size < 0 {
		return m, &Error{Reason: fmt.Sprintf("%v message of %d bytes at %d, of %d", f.Type, len(data), m.Offset, m.Size)}
	}
	m.Data = data
	return m, nil
}
