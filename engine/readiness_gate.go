package engine

// ReadOnlyTask is implemented by tasks that can be read-only: they read hosts, or
// what the controller can reach, for later tasks. A revert runs the read-only tasks
// of the run again before it starts.
type ReadOnlyTask interface {
	// ReadOnly reports whether the task, with its arguments, changes nothing.
	ReadOnly() bool
}

// ReadinessGate is implemented by tasks that wait for an effect, or cause it: the
// hosts behind them are in the desired state. A revert runs the gates of the run, so
// that it continues only when the restored state is effective.
type ReadinessGate interface {
	// Gate returns the task that a revert runs: one of the same kind that changes
	// nothing for which the revert itself is responsible. nil means that there is
	// nothing to wait for.
	Gate() any
}
