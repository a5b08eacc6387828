// Package remote is the controller's end of a session with a host; its other end
// is package agent.
//
// [Connect] looks at a host over a transport.Conn with one command, sends it the
// agent program if it has not got it, starts it, as root where that is asked for,
// and returns a [Session]: segments go in, results come out, and questions of the
// host, for a blob or the answer to a call, are answered meanwhile. [Attach] does
// the last part alone, over a pair of streams.
//
// Everything a host says is bounded, and cleaned before it is shown.
package remote
