package runs

import (
	"context"
	"errors"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/schedule"
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
	log      *journal.Log // nil until startLog
}

// Do executes the run. The report is nil when the run did not start, and that of the
// check when the run applies a plan and its check did not complete.
func (r *Run) Do(ctx context.Context, w Observer) (*engine.Report, error) {
	if err := r.Prepare(ctx); err != nil {
		return nil, err
	}
	s := r.begin(w)
	report, err := s.do(ctx)
	return report, errors.Join(err, s.end())
}

func (r *Run) begin(w Observer) *execution {
	s := &execution{Run: r, started: time.Now().UTC(), observer: w, events: &fanout{}}
	r.id = s.started.Format("20060102-150405.000")
	s.events.add(w.Sink)
	services, calls := clusterServices(r.Project.Cluster)
	engine.Provide(services, reboot.Resumes(r.resumes))
	if r.observed != nil {
		engine.Provide(services, r.observed)
	}
	s.services = services
	r.connector.Serve(target.AgentServices{Blobs: r.blobs, Calls: calls, Sink: r.redactor.Wrap(s.events)})
	return s
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

// resumeChain returns a run and the runs that it resumed, the newest first; nil for an
// empty id. A log that cannot be read ends the chain.
func resumeChain(run string) []string {
	if run == "" {
		return nil
	}
	out := []string{run}
	dir, err := journal.Dir()
	if err != nil {
		return out
	}
	records, _ := journal.List(dir)
	for _, r := range records { // newest first
		if r.Header.Run == out[len(out)-1] && r.Header.Resumes != "" {
			out = append(out, r.Header.Resumes)
		}
	}
	return out
}

// options returns the options of the scheduler.
func (s *execution) options() schedule.Options {
	o := schedule.Options{
		RunID:       s.id,
		ResumedRuns: resumeChain(s.resumes),
		CheckOnly:   s.Check,
		Unlocked:    s.unlocked,
		NoRestore:   s.NoRestore,
		Hosts:       s.Hosts,
		Match:       s.Project.Match,
		Vars:        func(host string) (map[string]any, error) { return s.variables.Of(host), nil },
		Extra:       s.Extra,
		Registry:    s.registry,
		Connector:   s.connector,
		Local:       s.connector.Local(),
		Services:    s.services,
		Artifacts:   s.blobs,
		Blobs:       s.blobs,
		Forks:       s.Parallelism(),
		Lock:        s.lockOptions(s.started),
		Budget:      s.failureBudget(),
		// A lost master or etcd member ends the run, unless the inventory or the play allows it.
		ProtectedGroups: []string{cluster.RoleMaster, cluster.RoleEtcd},
		Sink:            s.events,
		Redactor:        s.redactor,
		Interrupt:       s.observer.Interrupt,
	}
	if s.Step {
		o.Confirm = s.runner.Confirm
	}
	return o
}

// end closes connections and the log, and returns the error of the log.
func (s *execution) end() error {
	s.connector.Close()
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}
