// Package host is the host of the keeper for modules of runs: they work on it without a controller and
// without an agent.
package host
