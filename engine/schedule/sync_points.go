package schedule

import (
	"fmt"

	"deployer/engine/program"
)

// syncPointsAt are the gates at an operation. Inside a serial play barriers are those
// of a batch; a label is one for each batch, and for other plays one of all.
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

// giveRollouts gives the gates where a block begins the rollout that it has.
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

// syncPoint is the one at an operation of the play that h takes part in: of its
// batch, or of all hosts.
func (c *coordinator) syncPoint(h *host, op int, p *program.Play) *syncPoint {
	if g := c.syncPoints[syncPointKey{op, h.batches[p.Index]}]; g != nil {
		return g
	}
	return c.syncPoints[syncPointKey{op, nil}]
}

// isThrottled tells whether hosts take turns at an operation.
func isThrottled(op program.Op) bool {
	for b := op.Block; b != nil; b = b.Parent {
		if b.LimitsHosts() {
			return true
		}
	}
	return op.Task.Throttle != nil
}
