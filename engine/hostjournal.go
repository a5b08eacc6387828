package engine

import "time"

// JournalEntry is one line of a run's journal on a host. JournalEntry holds the step's id and
// status only: names, messages, diffs and outputs may contain secrets that the host
// cannot recognize. The controller's journal holds them, redacted.
type JournalEntry struct {
	Time time.Time `json:"time"`
	Step string    `json:"step"`
	// Begun is set in the entry that is written before a step is applied. A step
	// without a later entry that has a status was interrupted: the agent died.
	Begun bool `json:"begun,omitempty"`
	// Status is set in the entry that is written when a step has ended.
	Status  Status        `json:"status,omitempty"`
	Tries   int           `json:"tries,omitempty"`
	Elapsed time.Duration `json:"elapsed,omitempty"` // over all tries
}
