package profile

import "time"

// Config is a file of profiles that was read and checked.
type Config struct {
	// Source is the name of the file, for messages.
	Source string
	// Interval is intervals.requeue: the time between two looks at a node.
	Interval time.Duration
	// Notes are keys of the file that have no effect here, each with its place.
	Notes []string

	profiles map[string]*profile
}

// profile is a profile of the file.
type profile struct {
	name   string
	states map[State]*stateRules
}

// stateRules say what happens while a node is in a state.
type stateRules struct {
	enter       []*Trigger
	notify      []*Notifier
	transitions []transition
}

// transition is a way out of a state.
type transition struct {
	when   *Expression
	checks map[string]*Check // by name, those of when
	do     []*Trigger
	next   State
}

// Has reports whether the file has a profile. Every file has the default profile.
func (c *Config) Has(name string) bool { return c.profiles[name] != nil }
