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

// Observer is who looks on while a run is carried out. All of it may be nil.
type Observer struct {
	// Sink gets the events, without secrets.
	Sink engine.Sink
	// Look gets those of the look at all hosts that comes before a plan is
	// applied.
	CheckSink engine.Sink
	// Interrupt, when it is closed or sent to, ends the run after the steps in
	// flight. To stop at once, cancel the context.
	Interrupt <-chan struct{}
}

// execution is a run on its way: what it needs beside the program, from its first
// connection to its last.
type execution struct {
	*Run
	started  time.Time
	observer Observer
	events   *fanout // to all who want them, without secrets
	services engine.Services
	log      *journal.Log // nil until it is begun
}

// Do carries the run out. The report is that of a plan's look at the hosts when
// that did not come to its end, and nil when nothing was begun.
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

// resumeChain are a run and those that it goes on from, the newest first; none
// for no run. What cannot be read any more ends the list.
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
	for _, r := range records { // newest first, as runs go on from earlier ones
		if r.Header.Run == out[len(out)-1] && r.Header.Resumes != "" {
			out = append(out, r.Header.Resumes)
		}
	}
	return out
}

// options are those of the engine.
func (s *execution) options() schedule.Options {
	o := schedule.Options{
		RunID:     s.id,
		Resumes:   resumeChain(s.resumes),
		Check:     s.Check,
		Beside:    s.unlocked,
		NoPutBack: s.NoPutBack,
		Hosts:     s.Hosts,
		Match:     s.Project.Match,
		Vars:      func(host string) (map[string]any, error) { return s.variables.Of(host), nil },
		Extra:     s.Extra,
		Registry:  s.registry,
		Connector: s.connector,
		Local:     s.connector.Local(),
		Services:  s.services,
		Artifacts: s.blobs,
		Blobs:     s.blobs,
		Forks:     s.Parallelism(),
		Claim:     s.lockOptions(s.started),
		Budget:    s.failureBudget(),
		// A lost master or etcd member ends the run, unless the inventory or the play allows it.
		ProtectedGroups: []string{cluster.RoleMaster, cluster.RoleEtcd},
		Sink:            s.events,
		Redactor:        s.redactor,
		Interrupt:       s.observer.Interrupt,
	}
	if s.Step {
		o.Confirm = s.controller.Confirm
	}
	return o
}

// end gives everything back. The error is that of the log.
func (s *execution) end() error {
	s.connector.Close()
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}
