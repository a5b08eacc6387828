package schedule

import (
	"context"
	"io"
	"net"
	"time"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/engine/remote"
)

// Host is a live session with the agent on a host. Run and Dial may be called
// at the same time from several goroutines.
type Host interface {
	// Facts are what the agent reported when it started.
	Facts() engine.Facts
	// Run carries out a segment, calls on with each result in the order of the
	// steps, and returns after the last. It stops after the first step that
	// fails without IgnoreErrors. An error is only trouble with the
	// connection, and says by Retryable() bool whether connecting again can
	// help.
	Run(ctx context.Context, seg engine.Segment, on func(engine.Result)) error
	// Dial opens a connection from the host to an address as seen by it.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
	Close() error
}

// Stopper is a Host that can be asked to end its segments after the step in
// flight; Run then returns with the results so far, whatever its error.
type Stopper interface{ Stop(reason string) }

// Journaler is a Host that knows what became of the steps of a run before the
// connection was lost.
type Journaler interface {
	Journal(ctx context.Context, run string) ([]engine.JournalEntry, error)
}

// HandlerStore is a Host that remembers handlers which earlier runs have left undone, by
// the names of engine.Step.Notifies.
type HandlerStore interface{ PendingHandlers() []string }

// A session has all of these. They are looked for by their methods, so that a name that
// one side changes would be missed without a word.
var (
	_ Host                                = (*remote.Session)(nil)
	_ Stopper                             = (*remote.Session)(nil)
	_ Journaler                           = (*remote.Session)(nil)
	_ HandlerStore                        = (*remote.Session)(nil)
	_ interface{ Lost() <-chan struct{} } = (*remote.Session)(nil)
)

// Connector opens sessions. An error says by Retryable() bool whether trying
// again can help; one that does not say is final.
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
	// AddFile makes a file of any size available. It is opened and read once
	// for each key, also when many hosts ask at one time.
	AddFile(ctx context.Context, key any, open func() (io.ReadCloser, error)) (engine.Blob, error)
	// Download makes what is at a URL available, if its hex SHA-256 is digest.
	Download(ctx context.Context, url, digest string) (engine.Blob, error)
}

// Options say how a program is run.
type Options struct {
	// RunID names the run; hosts keep what they replace under it. Required.
	RunID string
	// ResumedRuns are the runs that this one goes on from, the newest first.
	ResumedRuns []string
	// CheckOnly only finds out what would change.
	CheckOnly bool
	// Unlocked lets the steps run at one time with those of other runs that a host
	// was not locked for.
	Unlocked bool
	// NoRestore leaves a host as it is when it fails in a rollout, for a look.
	NoRestore bool
	// Expect is what a step of a host may do, by the plan that is applied; nil
	// for anything. The steps of a host are asked for in their order.
	Expect func(host, step string) *engine.Expect
	// Hosts are those of the run, in inventory order.
	Hosts []string
	// Match resolves a pattern of a play, or the name of a group in a budget.
	// Hosts that are not in Hosts are left out. Required.
	Match func(pattern string) ([]string, error)
	// Vars returns what a host's tasks see before anything is registered.
	// Parts of it may be shared between hosts; nothing in it is changed.
	Vars func(host string) (map[string]any, error)
	// Extra are the variables from the command line, which win over all.
	Extra map[string]any

	Registry  engine.Registry
	Connector Connector
	// Local opens sessions on the machine that deployer runs on, for
	// delegate_to: localhost; nil when there is no such thing.
	Local     Connector
	Services  engine.Services
	Artifacts Artifacts // may be nil when no task uses artifacts
	Blobs     Blobs     // may be nil when no task makes blobs

	// Forks is the largest number of hosts that are being connected to or
	// carry out a segment at one time. Default 50.
	Forks int
	// ActionParallelism is the largest number of actions that run on the
	// controller at one time. Default 50.
	ActionParallelism int
	// Lock locks the hosts for this run; nil locks nothing.
	Lock *LockOptions
	// Budget says how many hosts of a group (or role, or "all") may fail or be
	// unreachable before the run is aborted. A group without an entry has no limit,
	// except those of ProtectedGroups.
	Budget map[string]program.Limit
	// ProtectedGroups are groups of which no host may be lost, unless Budget or the
	// play has another limit. The inventory may lack them.
	ProtectedGroups []string
	Retry           Retry

	// Confirm is asked before each task, once for all hosts that are to do it,
	// handlers apart; nil asks nothing. See compile.Compiler.Step.
	Confirm func(ctx context.Context, task string, hosts []string) Answer

	// Sink receives the events. Required.
	Sink engine.Sink
	// Redactor takes secrets out of everything that reaches Sink and the
	// report, and learns those of secret steps; nil for one that knows none.
	Redactor *Redactor
	// Interrupt, when it is closed or sent to, ends the run after the steps in
	// flight. To stop at once, cancel the context of Run.
	Interrupt <-chan struct{}
}

// Retry says how connecting is tried again after trouble that may pass. The
// wait doubles from First up to Most, each shortened by up to a quarter at
// random so that many hosts do not come back at one moment.
type Retry struct {
	Initial time.Duration // default 1 s
	Max     time.Duration // default 30 s
	// Attempts bounds the first connection. Default 4: about 7 s of waiting.
	Attempts int
	// Reattempts bounds coming back to a host that was lost in the middle.
	// Default 8: about 90 s of waiting, enough for a reboot.
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
