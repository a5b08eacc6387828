package protocol

import (
	"encoding/binary"
	"fmt"
)

// Version is the version of the protocol. Both ends send theirs in their hello and
// refuse another one: the controller brings a matching agent, so older versions are
// never spoken.
const Version = 1

// Banner is the line after which an agent sends frames. Output before it is noise of
// the host, for example of a shell's start-up files.
const Banner = "deployer-agent speaks frames from here"

const (
	// HeaderSize is the length of a frame's header in bytes.
	HeaderSize = 9
	// MaxFrame is the maximum payload of one frame in bytes.
	MaxFrame = 1 << 20
	// MaxMessage is the maximum payload of any message in bytes; most types have a
	// lower limit. A segment of thousands of steps with their files has a few MiB.
	MaxMessage = 64 << 20
	// more marks a frame that is continued by another.
	more = 0x80
)

// Type is the type of a frame.
type Type uint8

// The types of frame. "C>A" are sent by the controller, "A>C" by the agent.
const (
	Hello       Type = iota + 1 // both, first frame: HelloMessage
	Segment                     // C>A: engine.Segment, as package codec encodes it
	StepStart                   // A>C: StepMessage
	Progress                    // A>C: StepMessage
	Result                      // A>C: engine.Results, as package codec encodes them
	SegmentEnd                  // A>C: EndMessage
	Cancel                      // C>A: CancelMessage
	Call                        // A>C: CallMessage
	Reply                       // C>A: ReplyMessage
	BlobRequest                 // A>C: BlobMessage
	BlobChunk                   // C>A: raw
	BlobGrant                   // A>C: uint32, bytes that may be sent beyond those granted before
	BlobEnd                     // C>A: EndMessage
	BlobStop                    // A>C: empty; stops the blob
	Journal                     // C>A: JournalMessage
	JournalPage                 // A>C: JournalMessage
	Lock                        // C>A: LockMessage
	Locked                      // A>C: LockMessage
	Heartbeat                   // both: empty
	Bye                         // both, last frame: EndMessage
	Record                      // C>A: RecordMessage, see SendRecord
	RecordReply                 // A>C: RecordMessage
	BlobPlan                    // C>A: PlanMessage; answers BlobRequest instead of the blob, and again
	BlobReport                  // A>C: PlanReport
	lastType
)

var names = [...]string{
	Hello: "hello", Segment: "segment", StepStart: "step-start", Progress: "progress", Result: "result",
	SegmentEnd: "segment-end", Cancel: "cancel", Call: "call", Reply: "reply", BlobRequest: "blob-request",
	BlobChunk: "blob-chunk", BlobGrant: "blob-grant", BlobEnd: "blob-end",
	BlobStop: "blob-stop", Journal: "journal", JournalPage: "journal-page", Lock: "lock", Locked: "locked",
	BlobPlan: "blob-plan", BlobReport: "blob-report",
	Record: "record", RecordReply: "record-reply", Heartbeat: "heartbeat", Bye: "bye",
}

func (t Type) String() string {
	if t.known() {
		return names[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

func (t Type) known() bool { return t > 0 && t < lastType }

// Frame is one message as received.
type Frame struct {
	Type    Type
	ID      uint32
	Payload []byte
}

// AppendFrame appends one encoded frame. AppendFrame checks nothing: messages are sent with
// [Conn.Send].
func AppendFrame(out []byte, t Type, id uint32, payload []byte, unfinished bool) []byte {
	kind := byte(t)
	if unfinished {
		kind |= more
	}
	out = append(binary.BigEndian.AppendUint32(out, uint32(len(payload))), kind)
	return append(binary.BigEndian.AppendUint32(out, id), payload...)
}

// parseHeader decodes a header. An unknown type or a payload above MaxFrame is a
// *Error.
func parseHeader(b []byte) (t Type, id uint32, length int, unfinished bool, err error) {
	n := binary.BigEndian.Uint32(b)
	t, unfinished = Type(b[4]&^more), b[4]&more != 0
	if !t.known() {
		return 0, 0, 0, false, &Error{Reason: fmt.Sprintf("unknown frame %v", t)}
	}
	if n > MaxFrame {
		return 0, 0, 0, false, &Error{Reason: fmt.Sprintf("%v frame of %d bytes, the limit is %d", t, n, MaxFrame)}
	}
	return t, binary.BigEndian.Uint32(b[5:]), int(n), unfinished, nil
}

// Error says that the other end violates the protocol: it is another version
// or another program, or its bytes were corrupted.
type Error struct{ Reason string }

func (e *Error) Error() string { return "protocol: " + e.Reason }
