package cluster

import "deployer/limit"

// RolloutSpec is the `cluster.rollout:` section.
type RolloutSpec struct {
	MaxParallel *limit.Limit `yaml:"max_parallel" default:"10%" doc:"Nodes that are changed at once after the canaries: a number, or a share of all nodes, at least 1. Masters are changed one at a time in any case."`
}

// Rollout is the limits for changes of nodes in use.
type Rollout struct {
	MaxParallel limit.Limit `json:"max_parallel"` // after the canaries
}

// defaultParallel is a tenth of the nodes, so that a mistake that the canaries do not
// reveal costs at most a tenth of the capacity.
var defaultParallel = limit.Limit{Percent: 10, Share: true}
