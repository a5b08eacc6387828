package protocol

import "fmt"

// End is one of the two ends of a connection.
type End int

// The ends.
const (
	ControllerEnd End = iota
	AgentEnd
)

func (e End) String() string {
	if e == AgentEnd {
		return "agent"
	}
	return "controller"
}

// other returns the opposite end.
func (e End) other() End { return 1 - e }

// Maximum payloads of messages in bytes. A controller has a thousand hosts and trusts
// none of them, so it accepts little from each. An agent serves one controller, which
// may do anything on its host.
const (
	// MaxResults bounds a message of results: one step with the largest output
	// that an agent sends (8 MiB) and the effects of some 80 000 files, or fewer
	// with diffs (7 MiB).
	MaxResults = 16 << 20
	// MaxJournal bounds a run's journal: some 25 000 steps.
	MaxJournal = 4 << 20
	// MaxCall bounds the arguments of a call: a certificate request has some 500
	// bytes.
	MaxCall = 32 << 10
	// MaxText bounds messages with a text for people. The agent cuts texts to a tenth of
	// it, as JSON may need six bytes for one.
	MaxText = 128 << 10
	// maxHello has room for the facts of a host and thousands of pending handlers.
	maxHello = 1 << 20
	// maxLocked has room for as many pending handlers.
	maxLocked = 1 << 20
	// maxRecord has room for a part of a record (RecordPart) or a list of records.
	maxRecord = RecordPart + 64<<10
	// maxPlan has room for the digests of the chunks of 64 GiB, and the host's certificate.
	maxPlan = 1 << 20
	maxName = 16 << 10 // holder of a lock, name of a run or step
)

// limits are the maximum payloads of the messages that an end accepts, by type. A
// type that is not listed is refused.
var limits = [...]map[Type]int{
	ControllerEnd: {
		Hello: maxHello, StepStart: maxName, Progress: MaxText, Result: MaxResults, SegmentEnd: MaxText, Call: MaxCall,
		BlobRequest: 1 << 10, BlobGrant: 4, BlobStop: 0, BlobReport: maxName, JournalPage: MaxJournal, Locked: maxLocked, RecordReply: maxRecord,
		Heartbeat: 0, Bye: MaxText,
	},
	AgentEnd: {
		Hello: maxHello, Segment: MaxMessage, Cancel: MaxText, Reply: MaxMessage, BlobChunk: MaxFrame, BlobEnd: MaxText, BlobPlan: maxPlan,
		Journal: maxName, Lock: maxName, Record: maxRecord, Heartbeat: 0, Bye: MaxText,
	},
}

// maxPending is the maximum number of bytes of unfinished messages at an end: two
// results of the largest size may be in flight.
var maxPending = [...]int{ControllerEnd: 2 * MaxResults, AgentEnd: MaxMessage}

// accepts returns a *Error for a message that the end does not accept, by
// type or size.
func (e End) accepts(t Type, bytes int) error {
	limit, ok := limits[e][t]
	switch {
	case !ok:
		return &Error{Reason: fmt.Sprintf("%v is not for the %v", t, e)}
	case bytes > limit:
		return &Error{Reason: fmt.Sprintf("%v message of at least %d bytes, the limit is %d", t, bytes, limit)}
	}
	return nil
}
