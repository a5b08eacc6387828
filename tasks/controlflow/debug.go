package controlflow

import (
	"context"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/engine/exprarg"
)

// Debug shows text or values.
type Debug struct {
	Msg   any            `yaml:"msg" doc:"text or value to show"`
	Var   *exprarg.Value `yaml:"var" doc:"expression whose value is shown under its name, as in result.stdout"`
	Value any            `yaml:"value" doc:"additional value to show"`
}

var _ engine.Module = (*Debug)(nil)

// Check shows all that is given, and returns it as output.
func (d *Debug) Check(context.Context, engine.System) (engine.Change, error) {
	change := engine.NoChange(engine.Output{})
	show := func(name string, value any) error {
		value = plain(value)
		change.Output[name] = value
		text, ok := value.(string)
		if !ok {
			raw, err := yaml.Marshal(value)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			text = strings.TrimRight(string(raw), "\n")
		}
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectShow, Target: name, Diff: text})
		return nil
	}
	if d.Msg != nil {
		if err := show("msg", d.Msg); err != nil {
			return change, err
		}
	}
	if d.Var != nil {
		if err := show("var", map[string]any{d.Var.Expression: d.Var.Is}); err != nil {
			return change, err
		}
		change.Output["var"] = plain(d.Var.Is)
	}
	if d.Value != nil {
		if err := show("value", d.Value); err != nil {
			return change, err
		}
	}
	return change, nil
}

// Apply is never needed.
func (*Debug) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// largestWhole is the limit below which every whole number has an exact float64.
const largestWhole = 1 << 53

// plain returns a value of JSON with its whole numbers as integers: they would be
// shown as 5.07e+10 otherwise.
func plain(v any) any {
	switch t := v.(type) {
	case float64:
		if n := int64(t); float64(n) == t && n < largestWhole && n > -largestWhole {
			return n
		}
	case map[string]any:
		out := make(map[string]any, len(t))
		for key, value := range t {
			out[key] = plain(value)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, value := range t {
			out[i] = plain(value)
		}
		return out
	}
	return v
}
