package compile

import (
	"errors"

	"gopkg.in/yaml.v3"

	"deployer/engine/program"
)

// rawLimit is a program.Limit as YAML has it: a number of hosts, or a share.
type rawLimit program.Limit

// UnmarshalYAML reads 2 or 10%.
func (l *rawLimit) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return errors.New("want a number of hosts or a share, as in 2 or 10%")
	}
	limit, err := program.ParseLimit(n.Value)
	*l = rawLimit(limit)
	return err
}

// limits converts the limits of groups.
func limits(raw map[string]rawLimit) map[string]program.Limit {
	if raw == nil {
		return nil
	}
	out := make(map[string]program.Limit, len(raw))
	for group, l := range raw {
		out[group] = program.Limit(l)
	}
	return out
}
