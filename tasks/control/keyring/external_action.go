package keyring

import (
	"context"

	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// ExternalAuthorities is the action `external_authorities`: it fails when a master has
// another authority than the one that the inventory names as external, or the key of such a
// one. Masters without files pass.
type ExternalAuthorities struct {
	Found string `yaml:"found" rule:"variable" doc:"Name under which the masters registered ca_read." required:"true"`
}

// ReadOnly is true.
func (*ExternalAuthorities) ReadOnly() bool { return true }

// Check compares.
func (e *ExternalAuthorities) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	_, err = External(c.ExternalAuthorities.Certificates).in(Found(actx, e.Found))
	return engine.NoChange(nil), err
}

// Apply is never called.
func (*ExternalAuthorities) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
