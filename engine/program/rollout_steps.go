package program

import (
	"fmt"

	"deployer/engine/lang"
	"deployer/limit"
)

// RolloutGroup are hosts of a step of a rollout with limits of their own.
type RolloutGroup struct {
	Hosts       []string     // groups or patterns
	MaxParallel *limit.Limit // nil for the limit of the rollout alone
	MaxFail     *limit.Limit // nil for the budget of the rollout
}

// Steps computes the steps of the rollout, each with groups that go side by side.
func (b *Block) Steps(vars *lang.Vars) ([][]RolloutGroup, error) {
	if b.Rollout.Steps == nil {
		return nil, nil
	}
	steps := b.Rollout.Steps
	defer vars.PopTo(vars.Depth())
	if err := vars.PushScope(b.Scopes, steps.Refs()); err != nil {
		return nil, steps.Pos.Errorf("steps: %v", err)
	}
	v, err := steps.Eval(vars.Map())
	if v == nil || err != nil {
		return nil, err
	}
	out, err := ParseSteps(v)
	if err != nil {
		return nil, steps.Pos.Errorf("rollout: steps%v", err)
	}
	return out, nil
}

// ParseSteps reads a list of steps: mappings with hosts, max_parallel and max_fail, or with
// parallel, a list of such mappings. Errors begin with the place in the list, such as
// "[0].hosts: ".
func ParseSteps(v any) ([][]RolloutGroup, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf(": want a list of steps, got %s", lang.Describe(v))
	}
	var out [][]RolloutGroup
	for i, item := range list {
		groups, at := []any{item}, fmt.Sprintf("[%d]", i)
		m, _ := item.(map[string]any)
		_, inParallel := m["parallel"]
		if inParallel {
			if len(m) > 1 {
				return nil, fmt.Errorf("%s: parallel stands alone; write the other keys into its groups", at)
			}
			if groups, ok = m["parallel"].([]any); !ok || len(groups) == 0 {
				return nil, fmt.Errorf("%s.parallel: want a list of groups, got %s", at, lang.Describe(m["parallel"]))
			}
			at += ".parallel"
		}
		var step []RolloutGroup
		for j, g := range groups {
			group, err := parseGroup(g)
			if err != nil && inParallel {
				at = fmt.Sprintf("%s[%d]", at, j)
			}
			if err != nil {
				return nil, fmt.Errorf("%s%w", at, err)
			}
			step = append(step, group)
		}
		out = append(out, step)
	}
	return out, nil
}

func parseGroup(v any) (RolloutGroup, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return RolloutGroup{}, fmt.Errorf(": want a mapping with hosts, or with parallel, got %s", lang.Describe(v))
	}
	var out RolloutGroup
	for key, value := range m {
		var err error
		switch key {
		case "hosts":
			out.Hosts, err = hostNames(value)
		case "max_parallel":
			out.MaxParallel, err = parseLimit(value)
		case "max_fail":
			out.MaxFail, err = parseLimit(value)
		default:
			err = fmt.Errorf("unknown key; a group has hosts, max_parallel and max_fail")
		}
		if err != nil {
			return RolloutGroup{}, fmt.Errorf(".%s: %w", key, err)
		}
	}
	if len(out.Hosts) == 0 {
		return RolloutGroup{}, fmt.Errorf(": hosts is missing")
	}
	return out, nil
}

func hostNames(v any) ([]string, error) {
	if text, ok := v.(string); ok {
		v = []any{text}
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("want a group or pattern of hosts, or a list of them, got %s", lang.Describe(v))
	}
	var out []string
	for _, item := range list {
		name, ok := item.(string)
		if !ok || name == "" {
			return nil, fmt.Errorf("want a group or pattern of hosts, got %s", lang.Describe(item))
		}
		out = append(out, name)
	}
	return out, nil
}

func parseLimit(v any) (*limit.Limit, error) {
	out, err := limit.Parse(fmt.Sprint(v))
	return &out, err
}
