// Package virtualip compares the host of a virtual address, which keepalived moves between hosts, with
// what the witnesses on these and other hosts say. [Checks] observes it from one host, and pure
// rules turn the [Observation] into a row; status, apply, verify and diagnose show it.
package virtualip
