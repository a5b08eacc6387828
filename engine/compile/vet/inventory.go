package vet

// Inventory has the hosts that the checks know, and the variables that are given from
// outside.
type Inventory struct {
	// Vars returns the variables that a host has before the run; nil when they are
	// not known.
	Vars func(host string) map[string]any
	// Match returns the hosts of a pattern; nil when they are not known.
	Match func(pattern string) ([]string, error)
	// RunHosts are the hosts of the run, and Promised the variables that will have a
	// value before it begins.
	RunHosts, Promised []string
	// Extra are the variables that win over all others.
	Extra map[string]any
}
