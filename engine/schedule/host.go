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
	// given are the variables that a task has set last.
	given map[string]any
	// notified are the handlers of the present play that must run.
	notified map[*program.Task]bool
	// owed are the handlers that earlier runs have left undone, by their names
	// on the host; nil before the first connection.
	owed map[string]bool
	// flushes counts how often the handlers of a play were run, to tell apart
	// their run_once tasks.
	flushes map[*program.Play]int
	// pending is a failure that a block's rescue or always part is handling.
	pending map[*program.Block]*failed
	seg     segment
	// preview is set while a rollout's block is checked, inside while the host is in
	// one, restored while it is put back.
	preview  *preview
	inside   *insideRollout
	restored *engine.RestoreResult
	// retained is about how many bytes the run keeps of what the host said.
	retained int
	foresight

	link *link

	mu sync.Mutex // guards what follows
	// registered are this host's registered results, for actions of others.
	registered map[string]engine.Output
	rep        engine.HostReport

	// Guarded by the coord's lock.
	gates    []*gate // those that concern the host, in program order
	nextGate int
	cause    string        // why it left the run, if it did
	leftIn   *program.Play // where it was then
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
	fixed["run"] = map[string]any{"id": r.opts.RunID, "check": r.opts.Check}
	vars := lang.NewVars(clean, fixed)
	vars.Explain(r.prog.Definers)
	return &host{run: r, index: index, name: name, link: r.links.of(r, name), plays: make([]bool, len(r.prog.Plays)),
		batches: make([]*batch, len(r.prog.Plays)),
		vars:    vars, notified: map[*program.Task]bool{},
		flushes: map[*program.Play]int{}, pending: map[*program.Block]*failed{},
		registered: map[string]engine.Output{}, rep: engine.HostReport{Host: name}}
}

// failed is what takes a host out of a block, or out of the run.
type failed struct {
	failure *engine.Failure
	step    string // its name
	// unreachable: the connection is gone, so no rescue can run.
	unreachable bool
	// cancelled: the host did nothing wrong, but cannot go on; it does not
	// count against the budget.
	cancelled bool
	// forAll: the host did it for all hosts of the play, so all of them fail.
	forAll bool
	// restored says what became of what a rollout had changed.
	restored *engine.RestoreResult
}

// Error makes failed an error.
func (f *failed) Error() string { return f.failure.Message }

// work takes the host through the program, and out of it.
func (h *host) work(ctx context.Context) {
	err := h.walk(ctx)
	if h.inside != nil {
		err = h.lostInRollout(ctx, err)
	}
	if err != nil {
		h.keepPledges(ctx)
	}
	h.park(ctx, err)
}

// walk turns a panic of the scheduler or of an action into a failure of this
// host, so that one bad task never ends the run of all.
func (h *host) walk(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &failed{failure: &engine.Failure{Message: fmt.Sprintf("internal error: %v", p), Detail: string(debug.Stack())}}
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
		var f *failed
		if errors.As(err, &f) && !f.unreachable {
			err = h.rescue(ctx, f)
		}
		if err != nil {
			h.forceHandlers(ctx, f)
			return err
		}
	}
	h.run.coord.jump(h, len(h.run.prog.Ops), skipped)
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
		h.run.coord.leave(h, "", true)
		return
	}
	var f *failed
	counts := false
	h.mu.Lock()
	switch {
	case ctx.Err() != nil || !errors.As(err, &f) || f.cancelled:
		h.rep.Cancelled = true
	default:
		counts = true
		h.rep.Failure = h.run.opts.Redactor.Failure(f.failure)
		h.rep.FailedStep, h.rep.Unreachable, h.rep.RunOnce, h.rep.Restored = f.step, f.unreachable, f.forAll, f.restored
	}
	h.mu.Unlock()
	if counts && f.forAll {
		err = errors.New(failedForAll(f.step, h.name, err.Error()))
	}
	text := h.run.opts.Redactor.Text(err.Error())
	h.run.emit(engine.Event{Type: engine.EventHostParked, Host: h.name, Text: text})
	// The budget comes first: when it is exceeded, those who wait for this
	// host are to see that as the cause.
	if counts && f.forAll {
		h.run.abort(err)
	} else if p := h.play(); counts && p != nil && p.AnyErrorsFatal {
		h.run.abort(fmt.Errorf("%s failed in play %q, for which any_errors_fatal is set: %s", h.name, p.Name, text))
	} else if counts {
		if over := h.run.budget.lose(h.name, h.play()); over != nil {
			h.run.abort(fmt.Errorf("%w; first cause on %s: %s", over, h.name, text))
		}
	}
	h.run.coord.leave(h, text, false)
	if f != nil && f.unreachable {
		h.link.drop(h.live())
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
func (h *host) rescue(ctx context.Context, f *failed) error {
	at := h.cursor
	for b := h.run.prog.Ops[at].Block; b != nil; b = b.Parent {
		to := 0
		switch inside := at > b.Begin && at < b.End; {
		case inside && b.Rescue > at:
			to = b.Rescue + 1
			h.pending[b] = f
		case inside && b.Always > at:
			to = b.Always + 1
			h.pending[b] = f
		default: // in its last part, or at its doors
			if h.inside != nil && h.inside.block == b {
				h.failRollout(ctx, f)
			}
			h.exit(b)
			delete(h.pending, b)
			continue
		}
		h.vars.Assign("failure", map[string]any{"message": f.failure.Message, "detail": f.failure.Detail, "step": f.step})
		h.run.coord.jump(h, to, lost)
		h.cursor = to
		return nil
	}
	return f
}

// exit leaves a block's throttle.
func (h *host) exit(b *program.Block) { h.run.coord.exit(h, b) }

// waits tells the world what the host waits for; empty when it goes on.
func (h *host) waits(what string) {
	h.run.emit(engine.Event{Type: engine.EventWait, Host: h.name, Text: what})
}

func (h *host) reportNow() engine.HostReport {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rep
}
