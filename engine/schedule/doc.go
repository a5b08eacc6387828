// Package schedule runs a compiled program on hosts.
//
// [Run] starts a goroutine for each host, which moves a cursor through the program. The
// host gathers steps, rendered, in a segment until it must wait for another host, until
// the controller must act, or until a task reads the result of an earlier step; then it
// sends the segment, and results stream back. Hosts wait for each other only where the
// program says so: at barriers, throttles, needs, rollouts and run_once tasks. The
// coordinator holds all these waits, removes lost hosts from them, and detects deadlocks.
//
// A host that fails, or cannot be reached, leaves the run, and no other host waits for it.
// When a group has lost more hosts than the failure budget permits, the run is aborted:
// the steps in flight end, and the rest is cancelled with the cause.
//
// The files in the order in which a host executes them: run.go, host.go, operation.go, task.go, render.go,
// segment.go, dispatch.go, result.go. Other files hold the waits (coordinator.go,
// sync_point.go, throttle.go, run_once.go, rollout.go) and check mode (check_mode.go,
// preview.go). All files share the cursor and the coordinator's lock; therefore they are one
// package of more than 35 files. Connections and the run lock are package session.
package schedule
