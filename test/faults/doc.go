// Package faults breaks runs in every way it can think of, on a fleet of made-up
// hosts with the real agent, and wants the end to be as if nothing had happened.
//
// A sweep takes one playbook of thirty steps and breaks a run of it once at each
// place where it can break: the controller is killed at every end of a step, the
// agent and the connection at every frame. After the next run the host must be
// like one that was never disturbed. Controllers and agents are processes of
// their own here, and are killed with SIGKILL.
//
// `go test ./test/faults` breaks at some of the places; -stride 1, which
// `make faults` and CI use, at all of them.
package faults
