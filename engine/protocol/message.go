package protocol

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// HelloMessage is the first message of both ends.
type HelloMessage struct {
	Version int `json:"version"`
	// Facts is the JSON of engine.Facts; the agent sets it.
	Facts json.RawMessage `json:"facts,omitempty"`
	UID   int             `json:"uid,omitempty"`
	// PendingHandlers are the handlers that earlier runs notified and that have not
	// run; the agent sets them.
	PendingHandlers []string `json:"owed,omitempty"`
	PID             int      `json:"pid,omitempty"`
	// Heartbeat and IdleTimeout are milliseconds, set by the controller: the
	// interval of the agent's heartbeats, and the time without any byte after which
	// the agent considers the controller lost.
	Heartbeat   int64 `json:"beat,omitempty"`
	IdleTimeout int64 `json:"silence,omitempty"`
}

// CheckVersion returns a *Error when the other end has another version.
func (h HelloMessage) CheckVersion() error {
	if h.Version == Version {
		return nil
	}
	return &Error{Reason: fmt.Sprintf(
		"the other end has protocol version %d, this end has %d: agent and deployer are of different builds; build both again and run the new deployer",
		h.Version, Version)}
}

// StepMessage reports the start or the progress of a step.
type StepMessage struct {
	Step string `json:"step"`
	Text string `json:"text,omitempty"`
}

// EndMessage ends a segment, a blob or the connection.
type EndMessage struct {
	// Error is empty when it ended well.
	Error string `json:"error,omitempty"`
	// Stopped is set when a segment ended early because of a Cancel.
	Stopped bool `json:"stopped,omitempty"`
}

// CancelMessage ends a segment early.
type CancelMessage struct {
	// Now cancels the step in flight; otherwise it is finished first.
	Now bool `json:"now,omitempty"`
	// Reason is the cause, as the cancelled step will report it.
	Reason string `json:"reason,omitempty"`
}

// CallMessage asks the controller on behalf of a step.
type CallMessage struct {
	Method string          `json:"method"`
	In     json.RawMessage `json:"in,omitempty"`
}

// ReplyMessage answers a call.
type ReplyMessage struct {
	Out   json.RawMessage `json:"out,omitempty"`
	Error string          `json:"error,omitempty"`
}

// BlobMessage requests a blob, which is sent as a zstd stream.
type BlobMessage struct {
	Digest string `json:"digest"` // hex SHA-256 of the plain content
	// Direct has the controller send the blob itself; otherwise it may answer with a
	// BlobPlan.
	Direct bool `json:"direct,omitempty"`
	// Offset is the byte of the zstd stream to begin with.
	Offset int64 `json:"offset,omitempty"`
}

// IsDigest reports whether s is a SHA-256 in the form that names blobs: 64 hex
// digits, in lower case.
func IsDigest(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// BlobMessage returns the content of a BlobRequest frame. Anything other than a digest
// is a *Error: it could be a path.
func (f Frame) BlobMessage() (BlobMessage, error) {
	var m BlobMessage
	if err := f.Decode(&m); err != nil {
		return m, err
	}
	if !IsDigest(m.Digest) || m.Offset < 0 {
		return m, &Error{Reason: "blob-request without a SHA-256 in lower-case hex, or with a negative offset"}
	}
	return m, nil
}

// JournalMessage requests the journal of a run on the host, or carries it.
type JournalMessage struct {
	Run string `json:"run,omitempty"`
	// Entries are the journal's lines, each the JSON of one entry.
	Entries []json.RawMessage `json:"entries,omitempty"`
	Error   string            `json:"error,omitempty"`
}

// LockMessage requests the run lock of the host, releases it when it has no holder,
// or answers either.
type LockMessage struct {
	// Holder is the JSON of a lock.Holder: the requester or, in the answer, the other
	// run that holds the lock.
	Holder json.RawMessage `json:"holder,omitempty"`
	Error  string          `json:"error,omitempty"`
	// PendingHandlers, in an answer that grants the lock, replace those of the
	// hello: the agent of a lost controller may have added some meanwhile.
	PendingHandlers []string `json:"pendingHandlers,omitempty"`
}

// SendGrant allows n more bytes of blob id to be sent.
func (c *Conn) SendGrant(id uint32, n int) error {
	return c.Send(BlobGrant, id, binary.BigEndian.AppendUint32(nil, uint32(n)))
}

// Grant returns the number of bytes that a BlobGrant frame grants.
func (f Frame) Grant() (int, error) {
	if len(f.Payload) != 4 {
		return 0, &Error{Reason: fmt.Sprintf("blob-grant of %d bytes, want 4", len(f.Payload))}
	}
	return int(binary.BigEndian.Uint32(f.Payload)), nil
}
