package engine

// Deferrer is implemented by the System of a real run, not of a check. A step uses
// it for work that is needed once after many steps, such as a daemon reload.
type Deferrer interface {
	// Defer schedules Kind.Deferred of a kind for the end of the segment, whether
	// the segment succeeds or fails. The host records it first: when the agent dies
	// before the end, the next segment of any run does the work at its own end.
	Defer(kind string) error
}
