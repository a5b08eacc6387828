package runs

import (
	"cmp"
	"context"
	"errors"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/record"
	"deployer/engine/schedule"
	"deployer/engine/spread/tracker"
	"deployer/runs/target"
	"deployer/tasks/control/reboot"
)

// Observer receives the events of a run and can interrupt it. All fields may be nil.
type Observer struct {
	// Sink gets the events, without secrets.
	Sink engine.Sink
	// CheckSink gets the events of the check of all hosts before a plan is applied.
	CheckSink engine.Sink
	// Interrupt, when it is closed or sent to, ends the run after the steps in
	// flight. To stop at once, cancel the context.
	Interrupt <-chan struct{}
}

// execution is the state of a run from its first connection to its last.
type execution struct {
	*Run
	started  time.Time
	observer Observer
	events   *fanout // without secrets
	services engine.Services
	log      *journal.Log     // nil until startLog
	recorder *record.Recorder // nil until startRecord, and for runs without a record
	tracker  *tracker.Tracker // nil when hosts do not share blobs
}

// Do executes the run. The report is nil when the run did not start, and that of the
// check when the run applies a plan and its check did not complete.
func (r *Run) Do(ctx context.Context, w Observer) (*engine.Report, error) {
	if err := r.Prepare(ctx); err != nil {
		return nil, err
	}
	s, err := r.begin(w)
	if err != nil {
		return nil, err
	}
	report, err := s.do(ctx)
	return report, errors.Join(err, s.end())
}

func (r *Run) begin(w Observer) (*execution, error) {
	s := &execution{Run: r, started: time.Now().UTC(), observer: w, events: &fanout{}}
	r.id = s.started.Format("20060102-150405.000")
	if r.logged && !r.Check && r.runner.NextRunID != nil {
		r.id = cmp.Or(r.runner.NextRunID(), r.id)
	}
	s.events.add(w.Sink)
	services, calls := clusterServices(r.Project, r.blobs)
	engine.Provide(services, reboot.Resumes(r.resumes))
	if r.observed != nil {
		engine.Provide(services, r.observed)
	}
	s.services = services
	agents := target.AgentServices{Blobs: r.blobs, Calls: calls, Sink: r.redactor.Wrap(s.events)}
	if err := s.startTracker(&agents); err != nil {
		return nil, err
	}
	r.connector.Serve(agents)
	return s, nil
}

func (s *execution) do(ctx context.Context) (*engine.Report, error) {
	if s.applies != nil {
		return s.apply(ctx)
	}
	if err := s.startLog(); err != nil {
		return nil, err
	}
	return schedule.Run(ctx, s.Program, s.options())
}

// resumeChain returns the run that this one resumes, and those that it resumed; see
// history.History.Chain.
func (s *execution) resumeChain() []string {
	if s.resumes == "" {
		return nil
	}
	known, err := s.runner.history()
	if err != nil {
		return []string{s.resumes}
	}
	return known.Chain(s.resumes)
}

// options returns the options of the scheduler.
func (s *execution) options() schedule.Options {
	o := schedule.Options{
		RunID:        s.id,
		ResumedRuns:  s.resumeChain(),
		FailedBefore: s.failedBefore,
		CheckOnly:    s.Check,
		Unlocked:     s.unlocked,
		NoRestore:    s.NoRestore,
		Hosts:        s.Hosts,
		Missing:      s.missing,
		Match:        s.Project.Match,
		Vars:         func(host string) (map[string]any, error) { return s.variables.ForHost(host), nil },
		Extra:        s.Extra,
		Registry:     s.registry,
		Connector:    s.connector,
		Local:        s.connector.Local(),
		Services:     s.services,
		Artifacts:    s.blobs,
		Blobs:        s.blobs,
		Forks:        s.Parallelism(),
		Lock:         s.lockOptions(s.started),
		Budget:       s.failureBudget(),
		// A lost master or etcd member ends the run, unless the inventory or the play allows it.
		ProtectedGroups: []string{cluster.RoleMaster, cluster.RoleEtcd},
		Sink:            s.sink(),
		Redactor:        s.redactor,
		Interrupt:       s.observer.Interrupt,
		PassedPauses:    s.passedPauses,
	}
	if s.recorder != nil {
		o.Recorder = s.recorder
	}
	if s.Step {
		o.Confirm = s.runner.Confirm
	}
	return o
}

// end closes connections and the log, and returns the error of the log.
func (s *execution) end() error {
	if s.recorder != nil {
		s.recorder.Close()
	}
	s.connector.Close()
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}
