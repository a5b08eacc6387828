// Package flow has the modules that touch nothing and steer a playbook: fail,
// debug and set.
package flow

import (
	"cmp"
	"context"

	"deployer/engine"
)

// Fail ends the host's run with a message.
type Fail struct {
	Msg    string `yaml:"msg" doc:"one line: what is wrong and what to do; default \"the playbook said fail\""`
	Detail string `yaml:"detail" doc:"more to read; default none"`
}

// Debug shows text or values.
type Debug struct {
	Msg   string `yaml:"msg" doc:"text to show"`
	Value any    `yaml:"value" doc:"value to show"`
}

// Set gives values names: register the task to use them.
type Set struct {
	Values map[string]any `yaml:"values" required:"true" doc:"name -> value; later tasks see them under the name given with register"`
}

var (
	_ engine.Module = (*Fail)(nil)
	_ engine.Module = (*Debug)(nil)
	_ engine.Module = (*Set)(nil)
)

// Check always fails.
func (f *Fail) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{}, &engine.Failure{Message: cmp.Or(f.Msg, "the playbook said fail"), Detail: f.Detail}
}

// Apply is never needed.
func (*Fail) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// Check reports the text as progress and returns both as output.
func (d *Debug) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	out := engine.Output{}
	if d.Msg != "" {
		sys.Progress(d.Msg)
		out["msg"] = d.Msg
	}
	if d.Value != nil {
		out["value"] = d.Value
	}
	return engine.NoChange(out), nil
}

// Apply is never needed.
func (*Debug) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// Check returns the values.
func (s *Set) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.NoChange(engine.Output(s.Values)), nil
}

// Apply is never needed.
func (*Set) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
