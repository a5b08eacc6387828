// Package timeline computes how a run spent its time, from the events of its journal:
// the steps and waits of each host, the critical path, the slowest steps, and the
// waits by the host that caused them.
//
// A [Collector] takes the events in the order of the journal and returns a [Timeline].
// Everything is computed from events and nothing else: the package does no I/O, starts no
// goroutines, and knows neither HTML nor terminals. All times are durations since the start
// of the run, by the clock of the controller.
//
// The journal has the reason of a wait as text, and not the host that ended
// the wait. [Collector.Add] infers that host: see cause.go.
package timeline
