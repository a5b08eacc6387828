package engine

import "time"

// JournalEntry is one line of a run's journal on a host. It says what happened
// to which step and no more: names, messages, diffs and outputs may hold secrets
// that the host is not told of as such. The controller's journal has them, with
// the secrets taken out.
type JournalEntry struct {
	Time time.Time `json:"time"`
	Step string    `json:"step"`
	// Begun is set for the entry that is written before a step is applied. A
	// step with such an entry and no status after it was cut short by the
	// death of the agent.
	Begun bool `json:"begun,omitempty"`
	// Status is set for the entry that is written when a step has ended.
	Status  Status        `json:"status,omitempty"`
	Tries   int           `json:"tries,omitempty"`
	Elapsed time.Duration `json:"elapsed,omitempty"` // over all tries
}
