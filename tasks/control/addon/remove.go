package addon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/addons"
	"deployer/engine"
	"deployer/tasks/control/kube"
)

// Remove is the action `addons_removed`: it removes the add-ons that the inventory no longer has.
type Remove struct{}

// removePlan is the removal of one add-on.
type removePlan struct {
	record *record
	delete []kube.Planned
	kept   []string
}

// Check returns an effect for each object to remove.
func (r *Remove) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	if actx.CheckOnly() {
		client = client.WithRetryTimeout(-1)
	}
	plans, err := removals(ctx, client, actx)
	if err != nil && actx.CheckOnly() && kube.IsTransient(err) {
		return engine.NoChange(nil), nil // a cluster without an API has no add-ons yet, or the next step reports it
	}
	if err != nil {
		return engine.Change{}, err
	}
	change := engine.Change{CheckState: plans, Needed: len(plans) > 0}
	for _, p := range plans {
		change.Effects = append(change.Effects, hookEffects(p.record.Hooks, addons.PreDelete, addons.PostDelete)...)
		for _, d := range p.delete {
			change.Effects = append(change.Effects, d.Effect)
		}
		change.Effects = append(change.Effects, addonEffect(p.record.name, "remove: the inventory no longer has it"))
	}
	return change, nil
}

func removals(ctx context.Context, c *kube.Client, actx engine.ActionContext) ([]removePlan, error) {
	set := addonsOf(actx)
	records, err := listRecords(ctx, c)
	if err != nil {
		return nil, err
	}
	var out []removePlan
	for _, r := range records {
		if set.Find(r.name) != nil {
			continue
		}
		p := removePlan{record: r}
		if p.delete, p.kept, err = pruned(ctx, c, r, nil, "the inventory no longer has add-on "+r.name); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// Apply removes the objects of each add-on, and its record at last.
func (r *Remove) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	plans, ok := change.CheckState.([]removePlan)
	if !ok {
		return nil, errors.New("addons_removed: Apply needs the change that Check returned")
	}
	for _, p := range plans {
		if err := p.execute(ctx, client, actx); err != nil {
			return nil, fmt.Errorf("removing add-on %s: %w", p.record.name, err)
		}
	}
	return nil, nil
}

func (p removePlan) execute(ctx context.Context, c *kube.Client, actx engine.ActionContext) error {
	hooks := hookRun{c, p.record.name, p.record.Hooks, p.record.Timeout, actx}
	if err := hooks.run(ctx, addons.PreDelete); err != nil {
		return err
	}
	for i, d := range p.delete {
		if err := kube.Execute(ctx, c, p.delete[i:i+1], true, actx.Progress); err != nil {
			return err
		}
		// An operator removes what belongs to an object of its own kinds, so it must run until then.
		if kube.ScopeOf(d.Object.GroupVersionKind(), nil) == kube.ScopeUnknown {
			if err := waitGone(ctx, c, d.Object, actx); err != nil {
				return err
			}
		}
	}
	if err := hooks.run(ctx, addons.PostDelete); err != nil {
		return err
	}
	warnKept(actx, p.record.name, p.kept)
	return p.record.remove(ctx, c)
}

// goneTimeout is the maximum wait for the finalizers of an object.
const goneTimeout = 2 * time.Minute
