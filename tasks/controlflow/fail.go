// Package controlflow has the modules that touch nothing and steer a playbook: fail,
// assert, debug and set.
package controlflow

import (
	"cmp"
	"context"

	"deployer/engine"
)

// Fail ends the host's run with a message.
type Fail struct {
	Msg    string `yaml:"msg" rule:"text" doc:"error in one line, with the cause and the advice; default \"the playbook said fail\""`
	Detail string `yaml:"detail" rule:"text" doc:"details of the error; default none"`
}

var _ engine.Module = (*Fail)(nil)

// Check always fails.
func (f *Fail) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{}, &engine.Failure{Message: cmp.Or(f.Msg, "the playbook said fail"), Detail: f.Detail, Deterministic: true}
}

// Apply is never needed.
func (*Fail) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
