package engine

// ReadOnlyTask is implemented by tasks that may do nothing but look, at hosts or at
// what the controller can reach: later tasks use what they find. Before a run is
// reverted its lookers are asked again.
type ReadOnlyTask interface {
	// ReadOnly tells whether this one, with its arguments, only looks.
	ReadOnly() bool
}

// ReadinessGate is implemented by tasks behind which hosts are as they should be: they
// wait for an effect, or make it. When a run is reverted, gates hold again what
// follows back until the effect of putting back is there.
type ReadinessGate interface {
	// Gate returns the task to carry out then: of the same kind, and one that
	// changes nothing for which the revert itself is responsible. nil when
	// there is nothing to wait for.
	Gate() any
}
