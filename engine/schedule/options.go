package schedule

import (
	"context"
	"io"

	"deployer/engine"
	"deployer/engine/session"
	"deployer/limit"
)

// Artifacts finds the blob of a catalogued artifact for an architecture.
type Artifacts interface {
	Artifact(ctx context.Context, name, version, arch string) (engine.Blob, error)
}

// Blobs makes content available to hosts.
type Blobs interface {
	// AddBlob returns the content's digest.
	AddBlob(content []byte) (digest string)
	// AddFile makes a file of any size available. AddFile opens and reads the file once for
	// each key, also when many hosts ask concurrently.
	AddFile(ctx context.Context, key any, open func() (io.ReadCloser, error)) (engine.Blob, error)
	// Download makes the content of a URL available, if its hex SHA-256 is digest.
	Download(ctx context.Context, url, digest string) (engine.Blob, error)
}

// DefaultForks is the number of hosts that are processed in parallel when neither the
// command line nor the inventory says otherwise.
const DefaultForks = 50

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
	// Missing are hosts of the run that are known to be down, each with the reason. These hosts are
	// not connected to, leave the run at its start, and are unreachable in its report. They
	// are no members of the groups of Budget and of plays, so that they do not count as lost
	// and shares are those of the other hosts.
	Missing map[string]string
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
	Connector session.Connector
	// Local opens sessions on the controller's machine, for delegate_to: localhost;
	// nil when that is not possible.
	Local     session.Connector
	Services  engine.Services
	Artifacts Artifacts // may be nil when no task uses artifacts
	Blobs     Blobs     // may be nil when no task makes blobs

	// Forks is the maximum number of hosts that connect or run a segment in
	// parallel. Default DefaultForks.
	Forks int
	// ActionParallelism is the maximum number of actions that run in parallel on the
	// controller. Default 50.
	ActionParallelism int
	// Lock configures the run lock; nil locks no host.
	Lock *session.LockOptions
	// Budget is the failure budget: the number of hosts of a group (or role, or
	// "all") that may fail or be unreachable before the run is aborted. A group without an entry has no limit,
	// except those of ProtectedGroups.
	Budget map[string]limit.Limit
	// ProtectedGroups are groups of which no host may be lost, unless Budget or the
	// play has another limit. The inventory may lack them.
	ProtectedGroups []string
	Retry           session.Retry

	// Confirm asks the user before each task, once for all its hosts, except for
	// handlers; nil does not ask. See compile.Compiler.Step.
	Confirm func(ctx context.Context, task string, hosts []string) Answer

	// Recorder gets the sessions with all hosts; nil for a run without a record on hosts.
	Recorder session.Recorder
	// Sink receives the events. Required.
	Sink engine.Sink
	// Redactor redacts events and the report, and learns the outputs of secret steps;
	// nil for one without secrets.
	Redactor *Redactor
	// Interrupt ends the run after the steps in flight, when it is closed or receives.
	// Cancel the context of Run to stop at once.
	Interrupt <-chan struct{}
}

func (o Options) withDefaults() Options {
	setDefault(&o.Forks, DefaultForks)
	setDefault(&o.ActionParallelism, 50)
	o.Retry = o.Retry.WithDefaults()
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
