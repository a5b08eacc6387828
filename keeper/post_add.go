package keeper

import (
	"context"
	"fmt"
	"time"

	"deployer/keeper/actionlog"
	"deployer/keeper/config"
	"deployer/keeper/status"
	"deployer/keeper/world"
)

// postAdds is what a keeper remembers of hooks for nodes that join.
type postAdds struct {
	failed map[string]world.Attempts // by the UID of the Node
	unset  bool                      // no time is recorded, because there are no hooks
}

// observePostAdd adds to the world what the hooks for nodes that join need. The first keeper that leads with hooks
// records the time: nodes that are older were there before. Without hooks the time goes, so that hooks that are set
// later have a time of their own.
func (k *Keeper) observePostAdd(ctx context.Context, file config.File, w *world.World) error {
	kube := k.access.Kube.WithRetryTimeout(-1)
	if len(file.Keeper.PostAdd) == 0 {
		k.postAdds.failed = nil
		if !k.postAdds.unset && !file.Keeper.DryRun {
			since, err := status.PostAddSince(ctx, kube)
			if err == nil && !since.IsZero() {
				err = status.SetPostAddSince(ctx, kube, time.Time{})
			}
			if err != nil {
				return err
			}
			k.postAdds.unset = true
		}
		return nil
	}
	k.postAdds.unset = false
	since, err := status.PostAddSince(ctx, kube)
	if err != nil {
		return err
	}
	if since.IsZero() && !file.Keeper.DryRun {
		since = w.Now.UTC().Truncate(time.Second)
		if err := status.SetPostAddSince(ctx, kube, since); err != nil {
			return fmt.Errorf("recording since when hooks run for nodes that join: %w", err)
		}
	}
	w.PostAddSince = since
	failed := map[string]world.Attempts{} // of nodes that there are
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if a, has := k.postAdds.failed[n.UID]; has && !n.PostAdded {
			n.PostAdd, failed[n.UID] = a, a
		}
	}
	k.postAdds.failed = failed
	return nil
}

// note remembers a failure.
func (p *postAdds) note(uid string, e actionlog.Entry) {
	if !e.Failed() {
		delete(p.failed, uid)
		return
	}
	p.failed[uid] = world.Attempts{Failures: p.failed[uid].Failures + 1, Last: e.Time, Error: e.Result}
}
