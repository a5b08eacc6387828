// Package flow has the modules that touch nothing and steer a playbook: fail,
// debug and set.
package flow

import (
	"cmp"
	"context"
	"fmt"

	"gopkg.in/yaml.v3"

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
	return engine.Change{}, &engine.Failure{Message: cmp.Or(f.Msg, "the playbook said fail"), Detail: f.Detail, Certain: true}
}

// Apply is never needed.
func (*Fail) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// Check shows both, and returns them as output.
func (d *Debug) Check(context.Context, engine.System) (engine.Change, error) {
	change := engine.NoChange(engine.Output{})
	show := func(name, text string) {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectShow, Target: name, Diff: text})
	}
	if d.Msg != "" {
		change.Output["msg"] = d.Msg
		show("msg", d.Msg)
	}
	if d.Value != nil {
		change.Output["value"] = d.Value
		text, err := yaml.Marshal(d.Value)
		if err != nil {
			return change, fmt.Errorf("value: %w", err)
		}
		show("value", string(text))
	}
	return change, nil
}

// Apply is never needed.
func (*Debug) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// Looks is true: nothing is touched.
func (*Set) Looks() bool { return true }

// Check returns the values.
func (s *Set) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.NoChange(engine.Output(s.Values)), nil
}

// Apply is never needed.
func (*Set) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
