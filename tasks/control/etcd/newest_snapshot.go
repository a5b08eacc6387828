package etcd

import (
	"context"
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// NewestSnapshot is the action `etcd_newest_snapshot`: it compares the snapshots that hosts
// have saved of their own members, and changes nothing. Use it for members without a majority,
// whose data may differ. NewestSnapshot fails when no host has saved one, and outside of check mode when
// the revision of one is unknown: the newest data could be lost.
//
// Output: host, which has the snapshot with the highest revision, or the first one of these in
// inventory order; path and revision of that snapshot; saved, the number of hosts with one.
type NewestSnapshot struct {
	Saved string `yaml:"saved" rule:"variable" doc:"Name under which the etcd hosts registered their snapshots (etcd_snapshot)." required:"true"`
}

// ReadOnly is true: a comparison changes nothing.
func (*NewestSnapshot) ReadOnly() bool { return true }

// Check compares.
func (n *NewestSnapshot) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	out, saved, highest := engine.Output{}, 0, int64(-1)
	for _, h := range Hosts(c.Etcd) {
		snapshot := actionctx.Registered(actx, h.Name, n.Saved)
		path, _ := snapshot["path"].(string)
		if path == "" {
			continue
		}
		saved++
		revision := wholeNumber(snapshot["revision"])
		if revision < 1 && !actx.CheckOnly() {
			return engine.Change{}, fmt.Errorf("the revision of the snapshot %s:%s is unknown, so it may be the newest: run the command again", h.Name, path)
		}
		if revision > highest {
			highest = revision
			out["host"], out["path"], out["revision"] = h.Name, path, revision
		}
	}
	if saved == 0 {
		return engine.Change{}, errors.New("no host has saved a snapshot: at least one etcd host must be reachable and have the data of its member")
	}
	out["saved"] = saved
	return engine.NoChange(out), nil
}

// Apply is never called.
func (*NewestSnapshot) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// wholeNumber returns a number of an output, which is a float64 when a host has sent it; 0 for
// anything else.
func wholeNumber(v any) int64 {
	switch n := v.(type) {
	case int:
		return int64(n)
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}
