// Package schedule runs a compiled playbook over hosts.
//
// Each host goes through the program with a cursor of its own, in a goroutine
// of its own. It gathers the tasks that apply to it into a segment, rendered,
// until it has to wait for another host, or the controller has to act, or a
// task needs the result of an earlier one; then the segment is sent and its
// results stream back. Hosts wait for each other only where the program says so:
// at barriers, throttles, needs and run_once tasks. These waits are kept in one
// place (coord), which also lets go of hosts that are lost, and notices when
// nothing can move any more.
//
// A host that fails, or cannot be reached, is parked: it takes no further part
// and nobody waits for it. When more hosts of a group are lost than the budget
// allows, the run is aborted: steps in flight end, the rest is cancelled with
// the cause.
package schedule
