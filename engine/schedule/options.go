package schedule

import (
	"context"
	"io"
	"net"
	"time"

	"deployer/engine"
	"deployer/engine/remote"
	"deployer/limit"
)

// Host is a live session with the agent on a host. Run and Dial may be called
// at the same time from several goroutines.
type Host interface {
	// Facts returns the facts that the agent gathered at its start.
	Facts() engine.Facts
	// Run runs a segment, calls on with each result in the order of the steps, and
	// returns after the last. It stops after the first step that fails without
	// IgnoreErrors. An error means a failure of the connection; its method
	// Retryable() bool reports whether a new connection can help.
	Run(ctx context.Context, seg engine.Segment, on func(engine.Result)) error
	// Dial opens a connection from the host to an address, resolved on the host.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
	Close() error
}

// Stopper is implemented by Hosts that can end their segments after the step in flight.
// Run returns then, after the results so far, with any error.
type Stopper interface{ Stop(reason string) }

// Journaler is implemented by Hosts that can read the journal of a run, which includes
// the steps before a lost connection.
type Journaler interface {
	Journal(ctx context.Context, run string) ([]engine.JournalEntry, error)
}

// HandlerStore is implemented by Hosts that store pending handlers of earlier runs, by the
// names of engine.Step.Notifies.
type HandlerStore interface{ PendingHandlers() []string }

// Recorder keeps the record of a run on hosts of the run; see package record.
type Recorder interface {
	// Attach is called with each new session with a host, locked and not used yet. The
	// host is changed when Attach returns.
	Attach(ctx context.Context, host string, session any)
	// Close is called after the event run.end, and before the sessions are closed.
	Close()
}

// A session implements all of these. Type assertions find them, so that a rename of a
// method on one side would otherwise go unnoticed.
var (
	_ Host                                = (*remote.Session)(nil)
	_ Stopper                             = (*remote.Session)(nil)
	_ Journaler                           = (*remote.Session)(nil)
	_ HandlerStore                        = (*remote.Session)(nil)
	_ interface{ Lost() <-chan struct{} } = (*remote.Session)(nil)
)

// Connector opens sessions. The method Retryable() bool of an error reports whether a
// retry can help; an error without it is final.
type Connector interface {
	Connect(ctx context.Context, host string) (Host, error)
}

// Artifacts finds the blob of a catalogued artifact for an architecture.
type Artifacts interface {
	Artifact(ctx context.Context, name, version, arch string) (engine.Blob, error)
}

// Blobs makes content available to hosts.
type Blobs interface {
	// AddBlob returns the content's digest.
	AddBlob(content []byte) (digest string)
	// AddFile makes a file of any size available. It opens and reads the file once for
	// each key, also when many hosts ask concurrently.
	AddFile(ctx context.Context, key any, open func() (io.ReadCloser, error)) (engine.Blob, error)
	// Download makes the content of a URL available, if its hex SHA-256 is digest.
	Download(ctx context.Context, url, digest string) (engine.Blob, error)
}

// Options are the options of a run.
type Options struct {
	// RunID is the id of the run, under which hosts store backups. Required.
	RunID string
	// ResumedRuns are the runs that this run resumes, the newest first.
	ResumedRuns []string
	// FailedBefore are the hosts that failed in the newest of ResumedRuns: rollouts leave
	// them to the end.
	FailedBefore []string
	// PassedPauses are the names of rollouts that have paused in ResumedRuns; they do not
	// pause again.
	PassedPauses []string
	// CheckOnly runs checks and changes nothing.
	CheckOnly bool
	// Unlocked runs the steps without the run lock of the hosts.
	Unlocked bool
	// NoRestore does not restore a host that fails in a rollout.
	NoRestore bool
	// Expect returns the part of the applied plan for a step of a host; nil permits
	// everything. Calls for a host come in the order of its steps.
	Expect func(host, step string) *engine.Expect
	// Hosts are the hosts of the run, in inventory order.
	Hosts []string
	// Match resolves a pattern of a play, or the name of a group in a budget.
	// Names that are not in Hosts are ignored. Required.
	Match func(pattern string) ([]string, error)
	// Vars returns a host's variables before any task. Hosts may share parts of the
	// map; the run changes nothing in it.
	Vars func(host string) (map[string]any, error)
	// Extra are the variables of the command line, which take precedence over all
	// others.
	Extra map[string]any

	Registry  engine.Registry
	Connector Connector
	// Local opens sessions on the controller's machine, for delegate_to: localhost;
	// nil when that is not possible.
	Local     Connector
	Services  engine.Services
	Artifacts Artifacts // may be nil when no task uses artifacts
	Blobs     Blobs     // may be nil when no task makes blobs

	// Forks is the maximum number of hosts that connect or run a segment in
	// parallel. Default 50.
	Forks int
	// ActionParallelism is the maximum number of actions that run in parallel on the
	// controller. Default 50.
	ActionParallelism int
	// Lock configures the run lock; nil locks no host.
	Lock *LockOptions
	// Budget is the failure budget: the number of hosts of a group (or role, or
	// "all") that may fail or be unreachable before the run is aborted. A group without an entry has no limit,
	// except those of ProtectedGroups.
	Budget map[string]limit.Limit
	// ProtectedGroups are groups of which no host may be lost, unless Budget or the
	// play has another limit. The inventory may lack them.
	ProtectedGroups []string
	Retry           Retry

	// Confirm asks the user before each task, once for all its hosts, except for
	// handlers; nil does not ask. See compile.Compiler.Step.
	Confirm func(ctx context.Context, task string, hosts []string) Answer

	// Recorder gets the sessions with all hosts; nil for a run without a record on hosts.
	Recorder Recorder
	// Sink receives the events. Required.
	Sink engine.Sink
	// Redactor redacts events and the report, and learns the outputs of secret steps;
	// nil for one without secrets.
	Redactor *Redactor
	// Interrupt ends the run after the steps in flight, when it is closed or receives.
	// Cancel the context of Run to stop at once.
	Interrupt <-chan struct{}
}

// Retry configures retries of connections after temporary errors. The interval doubles
// from Initial up to Max. Each interval is shortened at random by up to a quarter, so
// that many hosts do not reconnect at the same moment.
type Retry struct {
	Initial time.Duration // default 1 s
	Max     time.Duration // default 30 s
	// Attempts bounds the first connection. Default 4: about 7 s of waiting.
	Attempts int
	// Reattempts bounds the attempts to reconnect to a host that was lost. Default 8:
	// about 90 s of waiting, enough for a reboot.
	Reattempts int
}

func (o Options) withDefaults() Options {
	setDefault(&o.Forks, 50)
	setDefault(&o.ActionParallelism, 50)
	setDefault(&o.Retry.Initial, time.Second)
	setDefault(&o.Retry.Max, 30*time.Second)
	setDefault(&o.Retry.Attempts, 4)
	setDefault(&o.Retry.Reattempts, 8)
	if o.Services == nil {
		o.Services = engine.Services{}
	}
	if o.Redactor == nil {
		o.Redactor = NewRedactor(nil)
	}
	return o
}

func setDefault[T ~int | ~int64](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
