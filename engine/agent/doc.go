// Package agent is the program that runs on a host; package remote is the
// controller's end of its session.
//
// [Serve] executes segments step by step: check, then apply if the check found a
// change and the run is no dry run. A running step may ask the controller for a blob
// or call one of its methods. Each segment runs in a goroutine of its own; one more
// receives frames, and one sends heartbeats.
//
// # What survives a lost connection
//
// The agent journals every result on the host before it sends it. When the
// connection is lost, the agent finishes and journals the step in flight and exits.
// Agents of one host take turns by the lock of the state directory, so two steps
// never run at once on a host, and the journal shows the outcome of a step whose
// result did not arrive.
//
// # What can be undone
//
// Before a module changes something, the agent backs it up: a file with its content,
// any other resource as a state that the restorer of its kind understands. When a
// step ends, the agent records what the step left. The agent's own module
// [engine.RevertModule] restores what a run has changed, unless somebody has changed
// it since.
//
// Journal, backups, pending handlers, deferred work and the run lock are files of one
// state directory under one lock, which is why they share a package; the file names say
// which is which (backup_*, restore_*, gc_*, pending_*).
package agent
