package keeper

import (
	"context"
	"time"

	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
	"deployer/keeper/report"
	"deployer/tasks/control/kube"
)

// maxDone is the number of last actions in a status.
const maxDone = 20

// loadDone reads the last actions of former processes on this host. A keeper that cannot read them has a status
// without them.
func (k *Keeper) loadDone() {
	done, err := k.log.Last(maxDone)
	if err != nil {
		k.options.Log.Warn("the last actions are not known", "error", err)
	}
	k.done = done
}

// record reports an action: in the journal, the file of the host, the status and the metrics, and as an event on
// each of the objects. A report that fails is in the journal, and stops none of the others.
func (k *Keeper) record(ctx context.Context, c *kube.Client, host string, objects []decide.Object, e actionlog.Entry) {
	k.options.Log.Info("action", "action", e.Action, "object", e.Object, "why", e.Why, "result", e.Result)
	k.done = append(k.done, e.Short())
	k.done = k.done[max(0, len(k.done)-maxDone):]
	k.metrics.Action(e)
	if e.Result != actionlog.ResultDryRun { // the file has what was done
		if err := k.log.Append(e); err != nil {
			k.options.Log.Warn("the action is not in the file", "error", err)
		}
	}
	// An action that took all of its time has an event, too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	for _, o := range objects {
		if err := report.Event(ctx, c.WithRetryTimeout(-1), host, o, e); err != nil {
			k.options.Log.Warn("no event was written", "error", err)
		}
	}
}

// entryOf returns the entry of an action that ends now.
func entryOf(a decide.Action, err error) actionlog.Entry {
	e := actionlog.Entry{Time: time.Now().UTC(), Action: string(a.Kind), Object: a.Object.String(), Why: a.Why, Result: actionlog.ResultDone}
	if err != nil {
		e.Result = err.Error()
	}
	return e
}
