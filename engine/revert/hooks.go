package revert

import (
	"fmt"

	"deployer/engine/program"
)

// hookVars returns the variables that the pre_tasks and post_tasks of a block set.
func (b *builder) hookVars(block *program.Block) map[string]bool {
	out := map[string]bool{}
	for i := block.Begin + 1; i < block.End; i++ {
		if t := b.prog.Ops[i].Task; t != nil && block.AroundBody(i) {
			for _, name := range t.Defines() {
				out[name] = true
			}
		}
	}
	return out
}

// repeatHooks emits the operations of pre_tasks or post_tasks, from an index to before
// another, as they are. A task that the inverse cannot compute is left out.
func (b *builder) repeatHooks(from, to int) {
	blocks := map[*program.Block]*program.Block{}
	for i := from; i < to; i++ {
		switch op := b.prog.Ops[i]; op.Kind {
		case program.OpTask:
			t := op.Task.WithConditions(op.Task.When)
			if !b.repeatable(t) {
				continue
			}
			t.Notify = nil
			for _, h := range op.Task.Notify {
				if again := b.handlers[h]; again != nil {
					t.Notify = append(t.Notify, again)
				}
			}
			t.Needs, t.Throttle = nil, b.throttle(t.Throttle)
			b.task(t)
		case program.OpBlock:
			if name := b.missingIn(op.Block); name != "" {
				b.leftOut = append(b.leftOut, fmt.Sprintf("%q: it uses the variable %s, which only a step of the original run can register", op.Block.Name, name))
				i = op.Block.End
				continue
			}
			inner := *op.Block
			inner.Parent, inner.Needs, inner.Throttle = b.block, nil, b.throttle(inner.Throttle)
			blocks[op.Block] = &inner
			inner.Begin = b.put(program.Op{Kind: program.OpBlock})
			b.out.Ops[inner.Begin].Block = &inner
			b.block = &inner
		case program.OpRescue:
			blocks[op.Block].Rescue = b.put(program.Op{Kind: program.OpRescue})
		case program.OpAlways:
			blocks[op.Block].Always = b.put(program.Op{Kind: program.OpAlways})
		case program.OpEnd:
			blocks[op.Block].End = b.put(program.Op{Kind: program.OpEnd})
			b.block = blocks[op.Block].Parent
		case program.OpFlush:
			b.put(program.Op{Kind: program.OpFlush})
		}
	}
}

// missingIn returns a variable of the block's conditions that only the run could register;
// "" when there is none.
func (b *builder) missingIn(block *program.Block) string {
	for _, name := range block.Refs().Names() {
		if b.own[name] && !b.asked[name] && !b.repeated[name] {
			return name
		}
	}
	b.uses(block.Refs())
	return ""
}

// invertHooked emits the pre_tasks of a block, the inverse of its body, and its post_tasks.
// block is the block under construction.
func (b *builder) invertHooked(p *section, block *program.Block) {
	from := p.block
	outer := b.repeated
	b.repeated = b.hookVars(from)
	b.repeatHooks(from.Begin+1, from.Rollout.Body.Begin)
	body := &program.Block{Name: block.Name, Pos: block.Pos, Parent: block, Scopes: block.Scopes}
	body.CollectRefs()
	block.Rollout.Body = body
	body.Begin = b.put(program.Op{Kind: program.OpBlock})
	b.out.Ops[body.Begin].Block = body
	b.block = body
	b.invertSection(p)
	body.End = b.put(program.Op{Kind: program.OpEnd})
	b.block = block
	block.Always = b.put(program.Op{Kind: program.OpAlways})
	b.repeatHooks(from.Always+1, from.End)
	b.repeated = outer
}
