package drain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/control/kube"
)

// undoTime is the maximum duration of undoing a cordon.
const undoTime = 30 * time.Second

// Result is the result of a drain.
type Result struct {
	Evicted int    // number of evicted pods that are gone
	Was     Cordon // state of the node before
}

// Drain cordons a node and evicts its pods, and returns when they are gone. When that
// fails within the timeout, or ctx ends, it makes the node schedulable again, unless
// somebody else had cordoned it before. The error lists the remaining pods with the
// reason for each.
func Drain(ctx context.Context, c *kube.Client, name string, o Options, progress func(string)) (Result, error) {
	if o.Timeout <= 0 {
		return Result{}, errors.New("timeout must be more than 0, because a drain may never end")
	}
	d := &drainer{c: c, node: name, o: o, progress: progress}
	late := &lateError{timeout: o.Timeout}
	limited, cancel := context.WithTimeoutCause(ctx, o.Timeout, late)
	defer cancel()
	was, err := cordon(limited, c, name, o.Run)
	if err == nil {
		err = d.evictAll(limited)
	}
	if err == nil {
		return Result{Evicted: d.evicted, Was: was}, nil
	}
	if cause := context.Cause(limited); cause != nil && ctx.Err() == nil {
		err = cause
	} else if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return Result{Evicted: d.evicted, Was: was}, d.failed(ctx, err, was)
}

// lateError is the error after the timeout.
type lateError struct{ timeout time.Duration }

func (e *lateError) Error() string { return fmt.Sprintf("timeout after %s", e.timeout) }

// failed undoes the cordon, and returns an error with that result and the remaining
// pods.
func (d *drainer) failed(ctx context.Context, err error, was Cordon) error {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	f := &engine.Failure{Message: fmt.Sprintf("node %s is not drained: %v", d.node, err)}
	var failure *engine.Failure
	if errors.As(err, &failure) {
		f.Message, f.Detail = failure.Message, failure.Detail
	}
	if left := d.stillThere(); len(left) > 0 {
		f.Message += fmt.Sprintf("; left: %s", shortlist.Texts(left, 1))
		f.Detail = strings.Join(append(left, "look with: kubectl get pods -A -o wide --field-selector spec.nodeName="+d.node, "and: kubectl get pdb -A"), "\n")
	}
	if was == Foreign {
		f.Message += "; it was cordoned by somebody else before, and stays so"
		return f
	}
	if _, err := open(own, d.c, d.node, false); err != nil {
		f.Message += fmt.Sprintf("; IT IS LEFT CORDONED: %v; when the API answers again: kubectl uncordon %s", err, d.node)
		return f
	}
	f.Message += "; it takes pods again"
	return f
}
