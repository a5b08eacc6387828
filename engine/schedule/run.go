package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/program"
	"deployer/engine/session"
)

// run is one run of a program.
type run struct {
	opts           Options
	prog           *program.Program
	coordinator    *coordinator
	forks          *session.Semaphore
	actions        *session.Semaphore
	hosts          []*host
	byName         map[string]*host
	connections    *session.Connections
	prompts        stepPrompts
	playSemaphores []*session.Semaphore // by index of the play; nil where it has no bound
	budget         *budget
	started        time.Time
	shared         normalizer
	args           argsCache
	restores       restoreCache
	// stop ends when the run must end after the steps in flight; its cause is the reason.
	stop    context.Context
	stopNow context.CancelCauseFunc
	// interrupt ends, and stop with it, when the user has interrupted the run.
	interrupt    context.Context
	interruptNow context.CancelCauseFunc
	ctx          context.Context // of Run; done when the run must end at once
	announced    []sync.Once     // of each play
	cleanups     *engine.Cleanups

	leftOpenMu sync.Mutex
	leftOpen   []string // states that no cleanup could end
	paused     []string // names of rollouts that have paused
}

// ErrInterrupted is the cause of what is cancelled when the user stops the run.
var ErrInterrupted = errors.New("interrupted; run the same command again to continue")

// Run runs a program. Run returns when every host has completed or left the run, or the run
// was aborted or interrupted. The report has the failures of hosts; an error means that the
// run could not start.
func Run(ctx context.Context, prog *program.Program, opts Options) (*engine.Report, error) {
	r, err := newRun(ctx, prog, opts.withDefaults())
	if err != nil {
		return nil, err
	}
	defer r.interruptNow(context.Canceled)
	r.emit(engine.Event{Type: engine.EventRunStart, Name: prog.Name, Text: opts.RunID})
	over := make(chan struct{})
	watchEnded := r.watchInterrupt(over)
	r.connections.HoldGuards(ctx)
	var all sync.WaitGroup
	for _, h := range r.hosts { // before any other host counts them
		if h.missing() {
			h.work(ctx)
		}
	}
	for _, h := range r.hosts {
		if h.missing() {
			continue
		}
		all.Go(func() {
			h.work(ctx)
			r.connections.HoldIfGuard(ctx, h.connection)
		})
	}
	all.Wait()
	close(over)
	<-watchEnded
	r.connections.EndLock()
	report := r.report(ctx)
	r.emit(engine.Event{Type: engine.EventRunEnd, Name: prog.Name, Report: report})
	if opts.Recorder != nil {
		opts.Recorder.Close()
	}
	r.connections.Close()
	return report, nil
}

func newRun(ctx context.Context, prog *program.Program, opts Options) (*run, error) {
	r := &run{opts: opts, prog: prog, forks: session.NewSemaphore(opts.Forks), actions: session.NewSemaphore(opts.ActionParallelism),
		byName: map[string]*host{}, started: time.Now(), announced: make([]sync.Once, len(prog.Plays)), cleanups: &engine.Cleanups{}}
	for i, name := range opts.Hosts {
		base, err := opts.Vars(name)
		if err != nil {
			return nil, fmt.Errorf("variables of %s: %w", name, err)
		}
		h := newHost(r, i, name, base)
		if r.byName[name] != nil {
			return nil, fmt.Errorf("host %s is given twice", name)
		}
		r.hosts = append(r.hosts, h)
		r.byName[name] = h
	}
	for _, p := range prog.Plays {
		names, err := opts.Match(p.Hosts)
		if err != nil {
			return nil, fmt.Errorf("%s: hosts: %w", p.Pos, err)
		}
		for _, n := range names {
			if h := r.byName[n]; h != nil {
				h.plays[p.Index] = true
			}
		}
	}
	// Hosts that no play names are not connected to.
	r.hosts = slices.DeleteFunc(r.hosts, func(h *host) bool { return !r.takesPart(h) })
	r.cutBatches()
	r.playSemaphores = make([]*session.Semaphore, len(prog.Plays))
	for _, p := range prog.Plays {
		if p.Forks > 0 {
			r.playSemaphores[p.Index] = session.NewSemaphore(p.Forks)
		}
	}
	var err error
	if r.coordinator, err = newCoordinator(r); err != nil {
		return nil, err
	}
	if r.budget, err = newBudget(r); err != nil {
		return nil, err
	}
	r.ctx = ctx
	r.interrupt, r.interruptNow = context.WithCancelCause(ctx)
	r.stop, r.stopNow = context.WithCancelCause(r.interrupt)
	r.openConnections()
	engine.Provide[func() []engine.HostReport](opts.Services, r.parked)
	engine.Provide(opts.Services, r.cleanups)
	return r, nil
}

// openConnections gives each host its connection.
func (r *run) openConnections() {
	var names []string
	for _, h := range r.hosts {
		if !h.missing() {
			names = append(names, h.name)
		}
	}
	r.connections = session.Open(session.Options{Connector: r.opts.Connector, Local: r.opts.Local, Retry: r.opts.Retry, Lock: r.opts.Lock,
		Recorder: r.opts.Recorder, Semaphore: r.forks, Emit: r.emit, Stop: r.stop, Abort: r.abort}, names)
	for _, h := range r.hosts {
		h.connection = r.connections.Host(h.name)
	}
}

// takesPart reports whether a play names the host.
func (r *run) takesPart(h *host) bool { return slices.Contains(h.plays, true) }

// watchInterrupt waits for Options.Interrupt, until over is closed.
func (r *run) watchInterrupt(over <-chan struct{}) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-r.opts.Interrupt: // never, when nil
			r.emit(engine.Event{Type: engine.EventInterrupted, Text: "finishing the steps in flight; interrupt again to stop now"})
			r.interruptNow(ErrInterrupted)
		case <-over:
		}
	}()
	return ended
}

// abort ends the run after the steps in flight.
func (r *run) abort(cause error) { r.stopNow(cause) }

// segment returns a segment of steps for the host.
func (h *host) segment(steps ...engine.Step) engine.Segment {
	return engine.Segment{Run: h.run.opts.RunID, ResumedRuns: h.run.opts.ResumedRuns, Steps: steps, CheckOnly: h.checking(), Unlocked: h.run.opts.Unlocked, Quiet: h.preview != nil}
}

func (r *run) emit(e engine.Event) {
	e.Time = time.Now()
	r.opts.Sink.Emit(r.opts.Redactor.Event(e))
}

// announcePlay emits the start of a play, for its first host.
func (r *run) announcePlay(p *program.Play) {
	r.announced[p.Index].Do(func() { r.emit(engine.Event{Type: engine.EventPlayStart, Name: p.Name}) })
}

// live returns the hosts of a play, or of one batch, that are still in the run, in order.
func (r *run) live(p *program.Play, b *batch) []string {
	r.coordinator.mu.Lock()
	defer r.coordinator.mu.Unlock()
	var out []string
	for _, h := range r.hosts {
		if h.plays[p.Index] && h.batches[p.Index] == b && h.cause == "" {
			out = append(out, h.name)
		}
	}
	return out
}

// parked returns the reports of the hosts that have left the run.
func (r *run) parked() []engine.HostReport {
	var out []engine.HostReport
	for _, h := range r.hosts {
		if rep := h.reportNow(); rep.Failure != nil || rep.Cancelled {
			out = append(out, rep)
		}
	}
	return out
}

func (r *run) report(ctx context.Context) *engine.Report {
	out := &engine.Report{Run: r.opts.RunID, Check: r.opts.CheckOnly, Elapsed: time.Since(r.started), Hosts: []engine.HostReport{}, LeftOpen: r.leftOpen,
		Paused: append(slices.Clone(r.opts.PassedPauses), r.paused...)}
	for _, h := range r.hosts {
		out.Hosts = append(out.Hosts, h.reportNow())
	}
	switch cause := context.Cause(r.stop); {
	case ctx.Err() != nil:
		out.Interrupted = true
		out.Aborted = context.Cause(ctx).Error()
	case errors.Is(cause, ErrInterrupted):
		out.Interrupted = true
		if len(r.paused) > 0 {
			out.Aborted = cause.Error()
		}
	case cause != nil:
		out.Aborted = cause.Error()
	}
	out.Stays = r.stays(out)
	clean := r.opts.Redactor.Report(*out)
	return &clean
}
