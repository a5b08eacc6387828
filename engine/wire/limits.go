package wire

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

// other is the end that this one talks to.
func (e End) other() End { return 1 - e }

// Greatest payloads of messages in bytes. A controller talks to a thousand hosts
// and trusts none of them: what it takes in of one is small. An agent serves one
// controller, which may do anything on its host.
const (
	// MaxResults bounds a message of results: one step with the largest output
	// that an agent sends (8 MiB) and the effects of some 80 000 files, or fewer
	// with diffs (7 MiB).
	MaxResults = 16 << 20
	// MaxJournal bounds a run's journal: some 25 000 steps.
	MaxJournal = 4 << 20
	// MaxCall bounds what a step asks the controller: a certificate request has
	// some 500 bytes.
	MaxCall = 32 << 10
	// MaxText bounds messages that are a text for people: the agent cuts these
	// to a tenth of it, as JSON may need six bytes for one.
	MaxText = 128 << 10
	// maxHello has room for the facts of a host and thousands of handlers that
	// it owes.
	maxHello = 1 << 20
	maxName  = 16 << 10 // the holder of a lock, the name of a run or of a step
)

// limits are the greatest payloads of the messages that an end accepts, by type.
// One of a type that is not in it is refused.
var limits = [...]map[Type]int{
	ControllerEnd: {
		Hello: maxHello, StepStart: maxName, Progress: MaxText, Result: MaxResults, SegmentEnd: MaxText, Call: MaxCall,
		BlobRequest: 1 << 10, BlobGrant: 4, BlobStop: 0, JournalPage: MaxJournal, Locked: maxName, Heartbeat: 0, Bye: MaxText,
	},
	AgentEnd: {
		Hello: maxHello, Segment: MaxMessage, Cancel: MaxText, Reply: MaxMessage, BlobChunk: MaxFrame, BlobEnd: MaxText,
		Journal: maxName, Lock: maxName, Heartbeat: 0, Bye: MaxText,
	},
}

// maxPending is how many bytes of unfinished messages an end keeps. Two results
// of the largest size may be on their way at one time.
var maxPending = [...]int{ControllerEnd: 2 * MaxResults, AgentEnd: MaxMessage}

// accepts refuses a message of a type that is not for the end, or of more bytes
// than it takes.
func (e End) accepts(t Type, bytes int) error {
	limit, ok := limits[e][t]
	switch {
	case !ok:
		return &ProtocolError{Reason: fmt.Sprintf("%v is not for the %v", t, e)}
	case bytes > limit:
		return &ProtocolError{Reason: fmt.Sprintf("%v message of at least %d bytes, the limit is %d", t, bytes, limit)}
	}
	return nil
}
