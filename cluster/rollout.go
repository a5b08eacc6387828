package cluster

import (
	"errors"
	"regexp"

	"gopkg.in/yaml.v3"
)

// RolloutSpec is the `cluster.rollout:` section.
type RolloutSpec struct {
	MaxParallel Share `yaml:"max_parallel" default:"10%" doc:"Nodes that are changed at once after the canaries: a number, or a share of all nodes, at least 1. Masters are changed one at a time in any case."`
}

// Rollout is the limits for changes of nodes in use.
type Rollout struct {
	MaxParallel Share `json:"max_parallel"` // after the canaries
}

// defaultParallel is a tenth of the nodes, so that a mistake that the canaries do not
// reveal costs at most a tenth of the capacity.
const defaultParallel Share = "10%"

// Share is a number of hosts such as 3, or a percentage such as 10%.
type Share string

var share = regexp.MustCompile(`^([0-9]+|([0-9]|[1-9][0-9])(\.[0-9]+)? *%|100 *%)$`)

// UnmarshalYAML reads a number or a percentage.
func (s *Share) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || !share.MatchString(n.Value) {
		return errors.New("want a number of hosts such as 3, or a percentage from 0% to 100%")
	}
	*s = Share(n.Value)
	return nil
}

// YAMLSchema describes the type to strictyaml.Schema.
func (Share) YAMLSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "integer", "minimum": 0},
		map[string]any{"type": "string", "pattern": share.String()},
	}}
}
