// Package agent is the program that runs on a host; the controller's end of its
// session is package remote.
//
// [Serve] carries segments out, step by step: check, and if something is to be
// done and it is no dry run, apply. While a step runs it may ask the controller
// back, for a blob or for the answer to a call.
//
// # What survives what
//
// Every result is in the journal on the host before it is sent. When the
// connection is lost the step in flight is finished and journaled, and the agent
// exits; the agent of the next connection waits for that before it begins, as
// both take the lock of the state directory. So no two steps ever run at once on
// a host, and the journal tells what became of a step whose result did not
// arrive.
//
// # What can be undone
//
// Before a module changes something it has the agent keep what is there: files
// with their content, other things with a state that the restorer of their kind
// understands. At its end a step notes what it left. The agent's own module
// [engine.RevertModule] puts back what a run has kept, unless somebody has
// changed it since.
package agent
