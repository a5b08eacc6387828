package engine

import "time"

// DefaultTimeLimit bounds one try of a task that names no timeout, and whose
// kind says nothing else: long enough for a host that crawls, and an end to one
// that hangs, such as on a network file system that is gone.
const DefaultTimeLimit = time.Hour

// NoTimeLimit is the limit of kinds that have an argument of their own for how
// long they wait.
const NoTimeLimit time.Duration = -1

// EffectiveTimeLimit is how long one try of a task of this kind may take when the task names
// no timeout; 0 for no limit.
func (k Kind) EffectiveTimeLimit() time.Duration {
	switch k.TimeLimit {
	case NoTimeLimit:
		return 0
	case 0:
		return DefaultTimeLimit
	}
	return k.TimeLimit
}
