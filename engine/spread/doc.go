// Package spread decides which host of a run receives a large blob from which other host, so
// that the controller sends a few copies instead of one for each host.
//
// A [Planner] is a pure state machine: requests, progress and failures of hosts go in, and
// [Assignment]s come out, each with the source from which one host takes the next chunks of
// one blob. A Planner reads no clock, starts no goroutine and sends nothing; package tracker
// connects it to the sessions of a run, package peer is the part on the hosts.
//
// The sources of a blob form a tree for each seed: hosts forward a chunk as soon as they have
// verified it, so a deeper host waits some chunks longer and not a whole blob longer. A host
// prefers sources of its rack, and only one host of a rack at a time receives a blob from
// outside of it.
//
// Reports of hosts are claims. A host that accuses others loses its own access to sources
// after a few accusations, so that one host cannot exclude many.
package spread
