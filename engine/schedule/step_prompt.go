package schedule

import (
	"context"
	"sync"

	"deployer/engine/program"
)

// Answer is the user's answer to Options.Confirm.
type Answer int

// The answers. YesToAll confirms all later tasks too.
const (
	Yes Answer = iota
	No
	YesToAll
)

// stepPrompts holds the questions of the run: one for each task and batch, asked by the
// first host.
type stepPrompts struct {
	mu    sync.Mutex
	asked map[runOnceKey]*question
	rest  bool
}

type question struct {
	answered chan struct{}
	yes      bool
}

// confirmed reports whether the user confirmed the task. Handlers need no confirmation:
// they belong to the tasks that notify them.
func (h *host) confirmed(ctx context.Context, t *program.Task) (bool, error) {
	if h.run.opts.Confirm == nil || t.Handler {
		return true, nil
	}
	if err := h.flush(ctx); err != nil {
		return false, err
	}
	q, mine := h.run.prompts.of(runOnceKey{task: t, batch: h.batches[t.Play.Index]})
	if mine {
		h.run.ask(ctx, h, t, q)
	}
	select {
	case <-q.answered:
		return q.yes, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-h.stop().Done():
		return false, context.Cause(h.stop())
	}
}

// of returns the question about a task; mine is true for the first caller, which must ask the
// user.
func (c *stepPrompts) of(key runOnceKey) (q *question, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.asked[key]; q != nil {
		return q, false
	}
	if c.asked == nil {
		c.asked = map[runOnceKey]*question{}
	}
	q = &question{answered: make(chan struct{})}
	c.asked[key] = q
	if c.rest {
		q.yes = true
		close(q.answered)
		return q, false
	}
	return q, true
}

func (r *run) ask(ctx context.Context, h *host, t *program.Task, q *question) {
	answer := r.opts.Confirm(ctx, t.Name, r.live(t.Play, h.batches[t.Play.Index]))
	r.prompts.mu.Lock()
	defer r.prompts.mu.Unlock()
	q.yes = answer != No
	r.prompts.rest = r.prompts.rest || answer == YesToAll
	close(q.answered)
}
