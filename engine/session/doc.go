// Package session holds the connections of a run.
//
// A [Session] is one live connection to the agent of a host, from its handshake to its
// end; package remote implements it. A [Connector] opens sessions. A [Connection] belongs
// to one machine for the whole run: it opens a session when one is needed, retries
// temporary errors, opens another one after a loss, and is shared by all that use the
// machine. [Connections] has one of them for each machine, and holds the run lock
// ([LockOptions]): the run locks its hosts, and the guards of the cluster, before it sends
// anything to one of them. A [Pool] keeps sessions between runs.
//
// Package schedule calls it and knows nothing of how a host is reached. The package has a
// goroutine for each guard that is held, and one for the locking; Connections.EndLock waits
// for both.
package session
