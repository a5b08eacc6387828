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
// Before a module changes something, the agent backs it up, and when the step ends, it
// records what the step left: see package undo, which also has the agent's own module
// [engine.RevertModule]. Journal, pending handlers, deferred work and the run lock are
// files of one state directory under one lock: see package statedir.
package agent
