// Package faults injects faults into runs on a fleet of simulated hosts with the real
// agent, and checks that the result is that of an undisturbed run.
//
// A sweep takes one playbook of thirty steps and breaks a run of it once at each
// place where it can break: the controller is killed at every end of a step, the
// agent and the connection at every frame. After the next run the host must be equal
// to an undisturbed one. Controllers and agents are processes of their own here, and
// are killed with SIGKILL.
//
// `go test ./test/faults` breaks a run at some of the places; with -stride 1, which
// `make faults` and CI set, it breaks one at all of them.
package faults
