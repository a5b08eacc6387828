package schedule

import (
	"fmt"

	"deployer/engine/program"
)

// syncPointsAt returns the sync points of an operation. In a serial play each batch has its
// own barriers; a label has one point for each batch, and one for all hosts for other
// plays.
func (r *run) syncPointsAt(i int) ([]*syncPoint, error) {
	op := r.prog.Ops[i]
	inBatch := op.Play.Batch > 0 && i > op.Play.Batch
	whole, each, what := false, false, ""
	switch op.Kind {
	case program.OpBarrier:
		whole, each, what = !inBatch, inBatch, fmt.Sprintf("the barrier in play %q", op.Play.Name)
	case program.OpLabel:
		whole, each, what = true, inBatch, fmt.Sprintf("label %q", op.Label.Name)
	case program.OpTask:
		if op.Task.RunOnce && !isThrottled(op) {
			whole, each, what = !inBatch, inBatch, fmt.Sprintf("%q", op.Task.Name)
		}
	case program.OpBlock:
		if op.Block.Rollout != nil {
			whole, each, what = !inBatch, inBatch, fmt.Sprintf("the rollout of %q", op.Block.Name)
		}
	case program.OpPlayEnd:
		each, what = inBatch, fmt.Sprintf("the end of play %q", op.Play.Name)
	}
	var members []*host
	for _, h := range r.hosts {
		if h.plays[op.Play.Index] {
			members = append(members, h)
		}
	}
	var out []*syncPoint
	if whole {
		out = append(out, &syncPoint{syncPointKey: syncPointKey{i, nil}, what: what, members: members, arrivals: map[*host]arrival{}})
	}
	if !each || len(members) == 0 {
		return out, r.giveRollouts(op, out)
	}
	for _, b := range members[0].batches[op.Play.Index].all {
		g := &syncPoint{syncPointKey: syncPointKey{i, b}, what: what, members: b.hosts, arrivals: map[*host]arrival{}}
		if g.end = op.Kind == program.OpPlayEnd; g.end {
			b.end = g
		}
		out = append(out, g)
	}
	return out, r.giveRollouts(op, out)
}

// giveRollouts sets the rollout of the sync points at which its block begins.
func (r *run) giveRollouts(op program.Op, gates []*syncPoint) (err error) {
	for _, g := range gates {
		if op.Kind != program.OpBlock {
			break
		}
		if g.rollout, err = r.newBlockRollout(op.Block, g.members); err != nil {
			return err
		}
	}
	return nil
}

// syncPoint returns the sync point of an operation in a play of h: that of its batch, or
// that of all hosts.
func (c *coordinator) syncPoint(h *host, op int, p *program.Play) *syncPoint {
	if g := c.syncPoints[syncPointKey{op, h.batches[p.Index]}]; g != nil {
		return g
	}
	return c.syncPoints[syncPointKey{op, nil}]
}

// isThrottled reports whether an operation is inside of a throttle.
func isThrottled(op program.Op) bool {
	for b := op.Block; b != nil; b = b.Parent {
		if b.LimitsHosts() {
			return true
		}
	}
	return op.Task.Throttle != nil
}
