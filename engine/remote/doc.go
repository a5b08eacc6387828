// Package remote is the controller's end of a session with a host; the host's end is
// package agent.
//
// [Connect] probes a host over a transport.Conn with one command, sends the agent if
// the host does not have it, starts it, as root if asked to, and returns a
// [Session]. A session sends segments, delivers their results, and answers the
// host's requests for blobs and calls meanwhile. [Attach] opens a session over the
// streams of an agent that is already running.
//
// Each session has a goroutine that receives messages, one that sends heartbeats,
// and one for each call or blob that it serves; Close waits for all of them.
// Everything that a host sends is limited in size and sanitized before it is shown.
package remote
