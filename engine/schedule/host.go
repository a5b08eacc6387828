package schedule

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// host is one host's way through the program. Its goroutine owns everything
// but what the comments say.
type host struct {
	run   *run
	index int
	name  string
	plays []bool // by index; fixed before the run
	// batches are the host's by index of the play, nil where it is not serial.
	batches []*batch

	cursor int
	vars   *lang.Vars
	// lastSet are the variables that a task has set last.
	lastSet map[string]any
	// notified are the handlers of the present play that must run.
	notified map[*program.Task]bool
	// pendingHandlers are the handlers that earlier runs have left undone, by their names
	// on the host; nil before the first connection.
	pendingHandlers map[string]bool
	// flushes counts how often the handlers of a play were run, to tell apart
	// their run_once tasks.
	flushes map[*program.Play]int
	// pendingFailures is a failure that a block's rescue or always part is handling.
	pendingFailures map[*program.Block]*hostFailure
	seg             segment
	// preview is set while a rollout's block is checked, inside while the host is in
	// one, restored while it is restored.
	preview   *preview
	inRollout *rolloutVisit
	restoring *engine.RestoreResult
	// retained is about how many bytes the run keeps of what the host said.
	retained int
	checkState

	connection *connection

	mu sync.Mutex // guards what follows
	// registered are this host's registered results, for actions of others.
	registered map[string]engine.Output
	rep        engine.HostReport

	// Guarded by the coord's lock.
	syncPoints    []*syncPoint // those that concern the host, in program order
	nextSyncPoint int
	cause         string        // why it left the run, if it did
	leftIn        *program.Play // where it was then
}

func newHost(r *run, index int, name string, base map[string]any) *host {
	fixed := map[string]any{}
	for k, v := range r.opts.Extra {
		fixed[k] = lang.Normalize(v)
	}
	clean := r.shared.normalize(base)
	for _, k := range lang.Reserved() {
		if v, ok := clean[k]; ok {
			fixed[k] = v
		}
	}
	fixed["run"] = map[string]any{"id": r.opts.RunID, "check": r.opts.CheckOnly}
	vars := lang.NewVars(clean, fixed)
	vars.Explain(r.prog.Definers)
	return &host{run: r, index: index, name: name, connection: r.connections.host(r, name), plays: make([]bool, len(r.prog.Plays)),
		batches: make([]*batch, len(r.prog.Plays)),
		vars:    vars, notified: map[*program.Task]bool{},
		flushes: map[*program.Play]int{}, pendingFailures: map[*program.Block]*hostFailure{},
		registered: map[string]engine.Output{}, rep: engine.HostReport{Host: name}}
}

// hostFailure is what takes a host out of a block, or out of the run.
type hostFailure struct {
	failure *engine.Failure
	step    string // its name
	// unreachable: the connection is gone, so no rescue can run.
	unreachable bool
	// cancelled: the host did nothing wrong, but cannot go on; it does not
	// count against the budget.
	cancelled bool
	// runOnce: the host did it for all hosts of the play, so all of them fail.
	runOnce bool
	// restored says what became of what a rollout had changed.
	restored *engine.RestoreResult
}

// Error makes failed an error.
func (f *hostFailure) Error() string { return f.failure.Message }

// work takes the host through the program, and out of it.
func (h *host) work(ctx context.Context) {
	err := h.walk(ctx)
	if h.inRollout != nil {
		err = h.loseInRollout(ctx, err)
	}
	if err != nil {
		h.runCleanups(ctx)
	}
	h.park(ctx, err)
}

// walk turns a panic of the scheduler or of an action into a failure of this
// host, so that one bad task never ends the run of all.
func (h *host) walk(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &hostFailure{failure: &engine.Failure{Message: fmt.Sprintf("internal error: %v", p), Detail: string(debug.Stack())}}
		}
	}()
	if err := h.connect(ctx, h.run.opts.Retry.Attempts); err != nil {
		return err
	}
	for {
		if h.cursor == len(h.run.prog.Ops) && len(h.seg.entries) == 0 {
			break
		}
		if h.stop().Err() != nil {
			return context.Cause(h.stop())
		}
		err := h.advance(ctx)
		var f *hostFailure
		if errors.As(err, &f) && !f.unreachable {
			err = h.rescue(ctx, f)
		}
		if err != nil {
			h.forceHandlers(ctx, f)
			return err
		}
	}
	h.run.coordinator.jump(h, len(h.run.prog.Ops), bypassed)
	return nil
}

// advance takes one operation; after the last one it sends what is gathered.
func (h *host) advance(ctx context.Context) error {
	if h.cursor == len(h.run.prog.Ops) {
		return h.flush(ctx)
	}
	return h.step(ctx, h.run.prog.Ops[h.cursor])
}

// park takes the host out of the run, with the reason if it did not come to
// the end.
func (h *host) park(ctx context.Context, err error) {
	if err == nil {
		h.run.coordinator.leave(h, "", true)
		return
	}
	var f *hostFailure
	counts := false
	h.mu.Lock()
	switch {
	case ctx.Err() != nil || !errors.As(err, &f) || f.cancelled:
		h.rep.Cancelled = true
	default:
		counts = true
		h.rep.Failure = h.run.opts.Redactor.Failure(f.failure)
		h.rep.FailedStep, h.rep.Unreachable, h.rep.RunOnce, h.rep.Restored = f.step, f.unreachable, f.runOnce, f.restored
	}
	h.mu.Unlock()
	if counts && f.runOnce {
		err = errors.New(runOnceFailure(f.step, h.name, err.Error()))
	}
	text := h.run.opts.Redactor.Text(err.Error())
	h.run.emit(engine.Event{Type: engine.EventHostParked, Host: h.name, Text: text})
	// The budget comes first: when it is exceeded, those who wait for this
	// host are to see that as the cause.
	if counts && f.runOnce {
		h.run.abort(err)
	} else if p := h.play(); counts && p != nil && p.AnyErrorsFatal {
		h.run.abort(fmt.Errorf("%s failed in play %q, for which any_errors_fatal is set: %s", h.name, p.Name, text))
	} else if counts {
		if over := h.run.budget.lose(h.name, h.play()); over != nil {
			h.run.abort(fmt.Errorf("%w; first cause on %s: %s", over, h.name, text))
		}
	}
	h.run.coordinator.leave(h, text, false)
	if f != nil && f.unreachable {
		h.connection.drop(h.live())
	}
}

// play is the one the host is in, before its first play that one; nil after the
// last.
func (h *host) play() *program.Play {
	if h.cursor == len(h.run.prog.Ops) {
		return nil
	}
	for _, p := range h.run.prog.Plays[h.run.prog.Ops[h.cursor].Play.Index:] {
		if h.plays[p.Index] {
			return p
		}
	}
	return nil
}

// rescue finds where the program goes on after a failure: the rescue or always
// part of a block around it. Without one, the failure is returned.
func (h *host) rescue(ctx context.Context, f *hostFailure) error {
	at := h.cursor
	for b := h.run.prog.Ops[at].Block; b != nil; b = b.Parent {
		to := 0
		switch inside := at > b.Begin && at < b.End; {
		case inside && b.Rescue > at:
			to = b.Rescue + 1
			h.pendingFailures[b] = f
		case inside && b.Always > at:
			to = b.Always + 1
			h.pendingFailures[b] = f
		default: // in its last part, or at its doors
			if h.inRollout != nil && h.inRollout.block == b {
				h.failRollout(ctx, f)
			}
			h.leaveThrottle(b)
			delete(h.pendingFailures, b)
			continue
		}
		h.vars.Assign("failure", map[string]any{"message": f.failure.Message, "detail": f.failure.Detail, "step": f.step})
		h.run.coordinator.jump(h, to, lost)
		h.cursor = to
		return nil
	}
	return f
}

// leaveThrottle leaves a block's throttle.
func (h *host) leaveThrottle(b *program.Block) { h.run.coordinator.exit(h, b) }

// emitWait tells the world what the host emitWait for; empty when it goes on.
func (h *host) emitWait(what string) {
	h.run.emit(engine.Event{Type: engine.EventWait, Host: h.name, Text: what})
}

func (h *host) reportNow() engine.HostReport {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rep
}
