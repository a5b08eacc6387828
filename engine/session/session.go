package session

import (
	"context"
	"net"

	"deployer/engine"
	"deployer/engine/lock"
	"deployer/engine/remote"
)

// Session is a live session with the agent on a host. Run and Dial may be called
// at the same time from several goroutines. Sessions are compared with ==, so that each
// one is a pointer.
type Session interface {
	// Facts returns the facts that the agent gathered at its start.
	Facts() engine.Facts
	// Run runs a segment, calls on with each result in the order of the steps, and
	// returns after the last. Run stops after the first step that fails without
	// IgnoreErrors. An error means a failure of the connection; its method
	// Retryable() bool reports whether a new connection can help.
	Run(ctx context.Context, seg engine.Segment, on func(engine.Result)) error
	// Dial opens a connection from the host to an address, resolved on the host.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
	Close() error
}

// Connector opens sessions. The method Retryable() bool of an error reports whether a
// retry can help; an error without it is final.
type Connector interface {
	Connect(ctx context.Context, host string) (Session, error)
}

// Stopper is implemented by sessions that can end their segments after the step in flight.
// Run returns then, after the results so far, with any error.
type Stopper interface{ Stop(reason string) }

// Journaler is implemented by sessions that can read the journal of a run, which includes
// the steps before a lost connection.
type Journaler interface {
	Journal(ctx context.Context, run string) ([]engine.JournalEntry, error)
}

// HandlerStore is implemented by sessions with hosts that store pending handlers of earlier
// runs, by the names of engine.Step.Notifies.
type HandlerStore interface{ PendingHandlers() []string }

// Locker is implemented by sessions with hosts that can be locked for a run. The error of
// Lock is a *lock.Held when another run holds the lock.
type Locker interface {
	Lock(ctx context.Context, who lock.Holder) error
	Unlock(ctx context.Context) error
}

// LossNotifier is implemented by sessions that report their end.
type LossNotifier interface {
	// Lost returns a channel that is closed when the session has ended.
	Lost() <-chan struct{}
}

// Recorder keeps the record of a run on hosts of the run; see package record.
type Recorder interface {
	// Attach is called with each new session with a host, locked and not used yet. The
	// host is changed when Attach returns.
	Attach(ctx context.Context, host string, session any)
	// Close is called after the event run.end, and before the sessions are closed.
	Close()
}

// A session of package remote implements all of these. Type assertions find them, so that a
// rename of a method on one side would otherwise go unnoticed.
var (
	_ Session      = (*remote.Session)(nil)
	_ Stopper      = (*remote.Session)(nil)
	_ Journaler    = (*remote.Session)(nil)
	_ HandlerStore = (*remote.Session)(nil)
	_ Locker       = (*remote.Session)(nil)
	_ LossNotifier = (*remote.Session)(nil)
)

// IsLost reports whether a session has ended, if the session can report that.
func IsLost(s Session) bool {
	n, ok := s.(LossNotifier)
	if !ok {
		return false
	}
	select {
	case <-n.Lost():
		return true
	default:
		return false
	}
}
