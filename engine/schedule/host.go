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
	"deployer/engine/session"
	"deployer/jsontypes"
)

// host is one host's progress through the program. Its goroutine owns all fields without
// another rule.
type host struct {
	run   *run
	index int
	name  string
	plays []bool // by index; fixed before the run
	// batches holds the host's batch by index of the play; nil where the play is not
	// serial.
	batches []*batch

	cursor int
	vars   *lang.Vars
	// lastSet holds the variables of the latest task that sets variables.
	lastSet map[string]any
	// notified holds the handlers of the current play that must run.
	notified map[*program.Task]bool
	// pendingHandlers holds the handlers that earlier runs did not complete, by their names
	// on the host; nil before the first connection.
	pendingHandlers map[string]bool
	// flushes counts the handler runs of a play, which distinguishes their run_once tasks.
	flushes map[*program.Play]int
	// pendingFailures holds the failure that a block's rescue or always part handles.
	pendingFailures map[*program.Block]*hostFailure
	seg             segment
	// preview is set during the check of a rollout's block, inRollout while the host is in
	// one, restoring while the host is restored.
	preview   *preview
	inRollout *rolloutVisit
	// begun is the block whose rollout the host has begun; nil for none.
	begun     *program.Block
	restoring *engine.RestoreResult
	// failureCounted is true when the failure budget has counted the host's failure.
	failureCounted bool
	// retained is the approximate size of the results that the run keeps of the host, in
	// bytes.
	retained int
	checkState

	connection *session.Connection

	mu sync.Mutex // guards registered, rep and changes
	// registered holds the host's registered results, for actions of other hosts.
	registered map[string]engine.Output
	rep        engine.HostReport
	changes    []changedStep // in the order of the run, without those that were restored

	// The coordinator's lock guards the fields below.
	syncPoints    []*syncPoint // of the host, in program order
	nextSyncPoint int
	cause         string        // why it left the run, if it did
	leftIn        *program.Play // where it was then
}

func newHost(r *run, index int, name string, base map[string]any) *host {
	fixed := map[string]any{}
	for k, v := range r.opts.Extra {
		fixed[k] = jsontypes.Normalize(v)
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
	return &host{run: r, index: index, name: name, plays: make([]bool, len(r.prog.Plays)),
		batches: make([]*batch, len(r.prog.Plays)),
		vars:    vars, notified: map[*program.Task]bool{},
		flushes: map[*program.Play]int{}, pendingFailures: map[*program.Block]*hostFailure{},
		registered: map[string]engine.Output{}, rep: engine.HostReport{Host: name}}
}

// hostFailure is the reason why a host leaves a block or the run.
type hostFailure struct {
	failure *engine.Failure
	step    string // its name
	// unreachable is true when the connection is lost: no rescue part can run.
	unreachable bool
	// cancelled is true when the host did not fail but cannot continue. cancelled does not count
	// against the budget.
	cancelled bool
	// runOnce is true for the failure of a run_once task: all hosts of the play fail.
	runOnce bool
	// restored is the result of the restore after a failed rollout, and at the operation of
	// a failure that led to the post_tasks of one.
	restored *engine.RestoreResult
	at       int
}

// Error returns the message of the failure.
func (f *hostFailure) Error() string { return f.failure.Message }

// missing reports whether the host was down before the run.
func (h *host) missing() bool {
	_, missing := h.run.opts.Missing[h.name]
	return missing
}

// work runs the program on the host and takes the host out of the run.
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

// walk runs the program. walk turns a panic of the scheduler or of an action into a failure
// of this host, so that one task never ends the run of all.
func (h *host) walk(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &hostFailure{failure: &engine.Failure{Message: fmt.Sprintf("internal error: %v", p), Detail: string(debug.Stack())}}
		}
	}()
	if reason, missing := h.run.opts.Missing[h.name]; missing {
		return &hostFailure{failure: &engine.Failure{Message: reason}, unreachable: true}
	}
	if err := h.connect(ctx, h.run.opts.Retry.Attempts); err != nil {
		return err
	}
	for {
		if h.cursor == len(h.run.prog.Ops) && len(h.seg.entries) == 0 {
			break
		}
		err := context.Cause(h.stop())
		if err == nil {
			err = h.advance(ctx)
		}
		err = h.stopInPreTasks(ctx, err)
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

// advance runs one operation; after the last one it sends the segment.
func (h *host) advance(ctx context.Context) error {
	if h.cursor == len(h.run.prog.Ops) {
		return h.flush(ctx)
	}
	return h.step(ctx, h.run.prog.Ops[h.cursor])
}

// park takes the host out of the run; err is nil when the host completed.
func (h *host) park(ctx context.Context, err error) {
	if err == nil {
		h.run.coordinator.leave(h, "", true)
		return
	}
	var f *hostFailure
	h.mu.Lock()
	switch {
	case ctx.Err() != nil || !errors.As(err, &f) || f.cancelled:
		h.rep.Cancelled = true
	default:
		h.rep.Failure = h.run.opts.Redactor.Failure(f.failure)
		h.rep.FailedStep, h.rep.Unreachable, h.rep.RunOnce, h.rep.Restored = f.step, f.unreachable, f.runOnce, f.restored
	}
	h.mu.Unlock()
	text := h.failureText(err)
	h.run.emit(engine.Event{Type: engine.EventHostParked, Host: h.name, Text: text})
	// The budget comes first: when it is exceeded, the hosts that wait for this host
	// must get that as the cause, and no host may take its place in a throttle.
	if !h.missing() { // a missing host was lost before the run
		h.countFailure(ctx, err)
	}
	h.run.coordinator.leave(h, text, false)
	if f != nil && f.unreachable {
		h.connection.Drop(h.live())
	}
}

// countFailure counts the host's failure once and aborts the run when the budget, the play or
// the task permits no more. The end of a run and cancelled hosts do not count.
func (h *host) countFailure(ctx context.Context, err error) {
	var f *hostFailure
	if h.failureCounted || ctx.Err() != nil || !errors.As(err, &f) || f.cancelled {
		return
	}
	h.failureCounted = true
	text, p := h.failureText(err), h.play()
	switch {
	case f.runOnce:
		h.run.abort(errors.New(text))
	case p != nil && p.AnyErrorsFatal:
		h.run.abort(fmt.Errorf("%s failed in play %q, for which any_errors_fatal is set: %s", h.name, p.Name, text))
	default:
		if over := h.run.budget.lose(h.name, p); over != nil {
			h.run.abort(fmt.Errorf("%w; first cause on %s: %s", over, h.name, text))
		}
	}
}

// failureText returns the reason why the host leaves the run, without secrets.
func (h *host) failureText(err error) string {
	var f *hostFailure
	if errors.As(err, &f) && f.runOnce {
		err = errors.New(runOnceFailure(f.step, h.name, err.Error()))
	}
	return h.run.opts.Redactor.Text(err.Error())
}

// play returns the play of the cursor, or the host's next play; nil after the last.
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

// rescue moves the cursor to the rescue or always part of a block around a failure. Without
// one, it returns the failure, and the host keeps its places in throttles until it is parked,
// so that the next host begins after the failure counts and the cleanups have run.
func (h *host) rescue(ctx context.Context, f *hostFailure) error {
	at := h.cursor
	for b := h.run.prog.Ops[at].Block; b != nil; b = b.Parent {
		to, why := 0, f
		switch inside := at > b.Begin && at < b.End; {
		case inside && b.Rescue > at:
			to = b.Rescue + 1
		case inside && b.Always > at && h.runsAlways(b):
			to = b.Always + 1
			why = h.beginPostTasks(b, f)
			if !h.willBeRescued(b, at) && h.inRollout == nil { // a rollout decides itself which host is next
				h.countFailure(ctx, f)
			}
		default: // in the block's last part, or at its begin or end
			f = h.failBlock(ctx, b, f)
			delete(h.pendingFailures, b)
			continue
		}
		h.handleFailure(b, to, why)
		return nil
	}
	return f
}

// willBeRescued reports whether a block around b has a rescue part for a failure at an
// operation.
func (h *host) willBeRescued(b *program.Block, at int) bool {
	for b = b.Parent; b != nil; b = b.Parent {
		if at > b.Begin && at < b.End && b.Rescue > at {
			return true
		}
	}
	return false
}

// handleFailure moves the cursor to the part of a block that handles a failure.
func (h *host) handleFailure(b *program.Block, to int, f *hostFailure) {
	h.pendingFailures[b] = f
	h.vars.Assign("failure", map[string]any{"message": f.failure.Message, "detail": f.failure.Detail, "step": f.step})
	h.run.coordinator.exitInside(h, b)
	h.run.coordinator.jump(h, to, lost)
	h.cursor = to
}

// leaveThrottle leaves a block's throttle.
func (h *host) leaveThrottle(b *program.Block) { h.run.coordinator.exit(h, b) }

// emitWait emits what the host waits for; empty when the wait has ended.
func (h *host) emitWait(what string) {
	h.run.emit(engine.Event{Type: engine.EventWait, Host: h.name, Text: what})
}

func (h *host) reportNow() engine.HostReport {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rep
}
