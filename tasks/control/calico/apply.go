package calico

import (
	"context"
	"errors"

	"deployer/engine"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/kube"
)

// Apply is the action `calico_apply`: it writes objects of Calico to its datastore.
type Apply struct {
	Template string `yaml:"template" rule:"line" template:"true" required:"true" doc:"Template file of the role with the objects, rendered with the host's variables."`
}

// Check compares the objects. In a dry run without a datastore all of them count as changed.
func (a *Apply) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	objects, err := kube.Rendered(actx, a.Template)
	if err != nil {
		return engine.Change{}, err
	}
	_, store, err := datastore.Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	plan, err := store.Plan(ctx, objects)
	if actx.CheckOnly() && errors.Is(err, datastore.ErrUnavailable) {
		return kube.UnknownChange(objects, kube.NotCompared(err)), nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	change := engine.Change{CheckState: plan, Output: engine.Output{"objects": len(objects)}}
	for _, p := range plan {
		if p.Needed {
			change.Needed = true
			change.Effects = append(change.Effects, p.Effect)
		}
	}
	return change, nil
}

// Apply executes the plan of Check.
func (*Apply) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	_, store, err := datastore.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	plan, ok := change.CheckState.([]kube.Planned)
	if !ok {
		return nil, errors.New("calico_apply: Apply needs the change that Check returned")
	}
	return nil, store.Execute(ctx, plan, actx.Progress)
}
