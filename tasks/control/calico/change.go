package calico

import (
	"context"

	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// Change is the action `plugin_change`: it reports whether the network plugin of a host in the run
// changes, or a change is not complete. The output has `needed`. Change changes nothing.
type Change struct {
	Found []string `yaml:"found" rule:"variable" required:"true" doc:"Names under which the hosts registered the files that hosts have until their change is complete."`
}

// ReadOnly returns true: the action changes nothing.
func (*Change) ReadOnly() bool { return true }

// Check looks at the files of the hosts.
func (c *Change) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	needed := false
	for _, host := range actx.Targets() {
		for _, name := range c.Found {
			files, _ := actionctx.Registered(actx, host, name)["files"].(map[string]any)
			needed = needed || len(files) > 0
		}
	}
	return engine.NoChange(engine.Output{"needed": needed}), nil
}

// Apply does nothing: Check never returns a needed change.
func (*Change) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
