package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/remote"
	"deployer/engine/schedule"
	"deployer/engine/view"
	"deployer/roles"
	"deployer/runs/content"
	"deployer/runs/reach"
	"deployer/tasks/control"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/reboot"
)

// session is a run on its way: what an execution needs beside the program, from
// its first connection to its last.
type session struct {
	x         *execution
	id        string
	started   time.Time
	ctx       context.Context // ends with the second interrupt
	interrupt <-chan struct{}
	stop      func()
	log       *journal.Log // nil when nothing is changed
	renderer  view.Renderer
	sink      *relay // of all events, without secrets
	redactor  *schedule.Redactor
	content   *content.Store
	services  engine.Services
	reach     *reach.Connector
}

// run carries the playbook out and shows it. The report is nil when the run
// could not begin.
func (x *execution) run(ctx context.Context) (*engine.Report, error) {
	s, err := x.begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.record(); err != nil {
		return nil, errors.Join(err, s.end())
	}
	report, err := schedule.Run(s.ctx, x.program, s.options())
	return report, errors.Join(err, s.end())
}

// begin makes everything ready that is not a host.
func (x *execution) begin(ctx context.Context) (*session, error) {
	if err := x.login(); err != nil {
		return nil, err
	}
	connector, err := reach.New(x.project, x.logins)
	if err == nil {
		err = connector.Unlock(x.hosts)
	}
	if err != nil {
		return nil, err
	}
	if x.artifacts {
		if err := x.project.Fetch(ctx, artifactProgress(x.env.stderr)); err != nil {
			return nil, err
		}
	}
	store, err := content.New(x.project)
	if err != nil {
		return nil, err
	}
	secrets, err := x.secrets()
	if err != nil {
		return nil, err
	}
	s := &session{x: x, started: time.Now().UTC(), content: store, redactor: schedule.NewRedactor(secrets)}
	s.id = s.started.Format("20060102-150405.000")
	x.clean = s.redactor.Text
	s.ctx, s.interrupt, s.stop = signals(ctx)
	if s.renderer = x.show; s.renderer == nil {
		s.renderer = x.renderer()
	}
	s.sink = &relay{}
	s.sink.add(s.renderer)
	if x.results != nil {
		s.sink.add(x.results)
	}
	services, calls := clusterServices(x.project.Cluster)
	engine.Provide(services, reboot.Resumes(x.resumes))
	s.services = services
	connector.Serve(reach.Serving{Blobs: store, Calls: calls, Sink: s.redactor.Wrap(s.sink)})
	s.reach = connector
	return s, nil
}

// options are those of the engine.
func (s *session) options() schedule.Options {
	x := s.x
	o := schedule.Options{
		RunID:     s.id,
		Check:     x.options.check,
		Beside:    x.beside,
		Hosts:     x.hosts,
		Match:     x.project.Match,
		Vars:      func(host string) (map[string]any, error) { return x.variables.Of(host), nil },
		Extra:     x.extra,
		Registry:  x.registry,
		Connector: s.reach,
		Local:     s.reach.Local(),
		Services:  s.services,
		Artifacts: s.content,
		Blobs:     s.content,
		Forks:     x.forks(),
		Claim:     x.claim(s.id, s.started),
		Budget:    x.limits(),
		Sink:      s.sink,
		Redactor:  s.redactor,
		Interrupt: s.interrupt,
	}
	if x.options.step {
		o.Confirm = confirm(x.env.stdin, x.env.stderr)
	}
	return o
}

// end gives everything back. The error is that of the log.
func (s *session) end() error {
	s.reach.Close()
	s.stop()
	s.renderer.Close()
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}

// record begins the journal of a run that changes hosts.
func (s *session) record() error {
	x := s.x
	if !x.journal || x.options.check {
		return nil
	}
	dir, err := journal.Dir()
	if err != nil {
		return err
	}
	if s.log, err = journal.Create(dir, s.header()); err != nil {
		return err
	}
	x.again = strings.Join(append([]string{resumeCommand(s.id, x.call.Withheld)}, askWords(x.options.ask)...), " ")
	s.sink.add(s.log)
	return nil
}

// relay passes events on to those that have been added until then.
type relay struct {
	mu    sync.Mutex
	sinks []engine.Sink
}

func (r *relay) add(s engine.Sink) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sinks = append(slices.Clip(r.sinks), s)
}

// Emit implements engine.Sink.
func (r *relay) Emit(e engine.Event) {
	r.mu.Lock()
	sinks := r.sinks
	r.mu.Unlock()
	for _, s := range sinks {
		s.Emit(e)
	}
}

func (s *session) header() journal.Header {
	x := s.x
	x.call.Extra, x.call.Withheld = journal.Withhold(x.extra, s.redactor.Text)
	h := journal.Header{Run: s.id, Started: s.started, Call: x.call, Files: x.project.Files(), Deployer: version,
		By: whoami(), PID: os.Getpid(), Resumes: x.resumes, Plan: x.plan}
	if x.project.Cluster != nil {
		h.Versions = roles.Versions(x.project.Cluster)
	}
	return h
}

// clusterServices are what actions and hosts may ask for; nothing without a
// cluster.
func clusterServices(c *cluster.Cluster) (engine.Services, map[string]remote.CallFunc) {
	services := engine.Services{}
	if c == nil {
		return services, nil
	}
	ring := &keyring.Keyring{}
	engine.Provide(services, ring)
	engine.Provide(services, kube.NewAccess(ring))
	engine.Provide(services, c)
	return services, control.Calls(ring, c)
}
