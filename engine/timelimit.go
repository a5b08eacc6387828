package engine

import "time"

// DefaultTimeLimit bounds one attempt of a task without timeout whose kind sets no
// limit of its own. An hour is long enough for a slow host, and ends an attempt that
// hangs, for example on a network file system that is gone.
const DefaultTimeLimit = time.Hour

// NoTimeLimit is the TimeLimit of kinds that have their own argument for how long
// they wait.
const NoTimeLimit time.Duration = -1

// EffectiveTimeLimit returns the bound of one attempt of a task without timeout; 0
// means no bound.
func (k Kind) EffectiveTimeLimit() time.Duration {
	switch k.TimeLimit {
	case NoTimeLimit:
		return 0
	case 0:
		return DefaultTimeLimit
	}
	return k.TimeLimit
}
