package engine

// Deferrer is what a System is besides, outside of checks: steps may leave to
// the end of their segment what is needed once after all of them.
type Deferrer interface {
	// Defer has Postponed of a kind called when the segment ends, however it
	// ends. It is written down first: when the agent dies before that, the next
	// segment on the host, of whatever run, ends with it.
	Defer(kind string) error
}
