package schedule

import (
	"context"
	"errors"

	"deployer/engine"
	"deployer/engine/program"
)

// preview is the check of a rollout's block on one host in a real run: it finds out whether
// the host needs a turn. When nothing changes, its results are those of the block.
type preview struct {
	changes bool         // something would change, or that cannot be known
	waits   bool         // the block waits for something that does not exist yet
	failed  *hostFailure // a check that fails although nothing would change
	results []engine.Event
	labels  []int // operations that the host passes
}

// take records a result.
func (p *preview) take(h *host, e *entry, res *engine.Result) {
	judged := e.task.IgnoreErrors || e.task.NeedsEvaluation() || e.task.Block.Rescue > 0 || e.task.Block.Always > 0
	switch {
	case p.changes: // later results depend on a change that was not made
		return
	case res.Unknown != "", res.Status == engine.StatusChanged, res.Status == engine.StatusCancelled, res.Failure != nil && judged:
		p.changes = true
		return
	case res.Failure != nil:
		p.failed = &hostFailure{failure: res.Failure, step: res.Name}
	case res.Change != nil && res.Change.Wait:
		p.waits = true
	}
	if e.task.Register != "" && res.Failure == nil {
		h.registerResult(e, *res)
	}
	h.define(e.task, *res)
	p.results = append(p.results, engine.Event{Type: engine.EventStepEnd, Host: h.name, Step: res.Step, Name: res.Name, Role: e.task.Role, Result: res})
}

// previewBlock checks the body of a block's rollout up to the first task that would change
// something. previewBlock restores the host's cursor.
func (h *host) previewBlock(ctx context.Context, b *program.Block) (*preview, error) {
	p, at := &preview{}, h.cursor
	h.preview = p
	err := h.previewOps(ctx, b.Rollout.Body)
	if err == nil {
		err = h.flush(ctx)
	}
	h.preview, h.cursor, h.seg = nil, at, segment{}
	var f *hostFailure
	if errors.As(err, &f) && !f.unreachable && !f.cancelled {
		p.changes, err = p.changes || p.failed == nil, nil
	}
	return p, err
}

func (h *host) previewOps(ctx context.Context, b *program.Block) error {
	p := h.preview
	for h.cursor = b.Begin + 1; h.cursor < b.End && !p.changes; {
		op := h.run.prog.Ops[h.cursor]
		switch op.Kind {
		case program.OpTask:
			if op.Task.Delegate != nil || op.Task.Throttle != nil || h.run.opts.Confirm != nil {
				p.changes = true
				return nil
			}
			if err := h.perform(ctx, &taskCall{task: op.Task, op: h.cursor, id: op.Task.ID}); err != nil {
				return err
			}
		case program.OpBlock:
			if err := h.previewInner(ctx, op.Block); err != nil {
				return err
			}
			continue
		case program.OpLabel:
			p.labels = append(p.labels, h.cursor)
		case program.OpEnd:
		case program.OpFlush:
			p.changes = len(h.notified) > 0
		default: // a rescue or always part: only a real run knows its way
			p.changes = true
		}
		h.cursor++
	}
	return nil
}

// previewInner enters a nested block, or moves past it.
func (h *host) previewInner(ctx context.Context, b *program.Block) error {
	if err := h.need(ctx, b.Refs()); err != nil {
		return err
	}
	applies, reason := b.OnlyHosts == nil || b.OnlyHosts[h.name], ""
	if applies {
		var err error
		if applies, reason, err = b.Applies(h.vars); err != nil {
			return h.failOutsideTask(ctx, b.Name, err)
		}
	}
	switch {
	case !applies && b.OnlyHosts != nil && !b.OnlyHosts[h.name]:
		h.cursor = b.End + 1
	case !applies:
		for i := b.Begin; i < b.End; i++ {
			if op := h.run.prog.Ops[i]; op.Kind == program.OpTask && !rescues(op.Block, i) {
				h.skipItem(&taskCall{task: op.Task, op: i, id: op.Task.ID}, nil, reason)
			}
		}
		h.cursor = b.End + 1
	case b.Throttle != nil || len(b.Needs) > 0:
		h.preview.changes = true
	default:
		h.cursor++
	}
	return nil
}

// acceptPreview records the results of the preview as those of the block and moves past the
// block, unless a check failed.
func (h *host) acceptPreview(b *program.Block, p *preview) error {
	if b.HasHooks() {
		h.skipOps(b.Begin+1, b.Rollout.Body.Begin, unchangedReason)
	}
	for _, e := range p.results {
		h.count(*e.Result)
		h.run.emit(e)
	}
	if p.failed != nil {
		return p.failed
	}
	if b.HasHooks() {
		h.skipOps(b.Always+1, b.End, unchangedReason)
	}
	for _, op := range p.labels {
		h.run.coordinator.arrive(h, op)
	}
	h.run.coordinator.jump(h, b.End+1, bypassed)
	h.cursor = b.End + 1
	return nil
}

// expect returns the part of the applied plan for a step; nil permits everything. A preview
// changes nothing, and no plan contains a restore.
func (h *host) expect(step string) *engine.Expect {
	if h.run.opts.Expect == nil || h.preview != nil || h.restoring != nil {
		return nil
	}
	return h.run.opts.Expect(h.name, step)
}

// checking reports whether the host must not be changed now.
func (h *host) checking() bool { return h.run.opts.CheckOnly || h.preview != nil }
