package cluster

import (
	"fmt"
	"strings"

	"deployer/limit"
)

// RolloutSpec is the `cluster.rollout:` section.
type RolloutSpec struct {
	MaxParallel    *limit.Limit           `yaml:"max_parallel" default:"10%" doc:"Nodes that are changed at once after the canaries: a number, or a share of all nodes, at least 1. Masters are changed one at a time in any case."`
	MaxUnavailable map[string]limit.Limit `yaml:"max_unavailable" doc:"Nodes with the same value of a label that are changed at once, by label, such as topology.kubernetes.io/zone: 1: a number, or a share of these nodes, at least 1."`
	Spread         string                 `yaml:"spread" doc:"Label over whose values nodes take turns, such as topology.kubernetes.io/zone."`
	Critical       []string               `yaml:"critical" doc:"Hosts, groups or patterns: when a change fails on one of these hosts, no further host is changed, whatever max_fail allows."`
}

// Rollout is the limits for changes of nodes in use.
type Rollout struct {
	MaxParallel    limit.Limit  `json:"max_parallel"`    // maximum number of nodes that are changed at the same time after the canaries
	MaxUnavailable []LabelLimit `json:"max_unavailable"` // limits by label, sorted by label
	Spread         string       `json:"spread"`          // label over whose values nodes take turns; empty: none
	Critical       []string     `json:"critical"`        // patterns of hosts on which a failure stops all further changes; a run has the names of the hosts
}

// LabelLimit is the number of nodes with the same value of a label that may be changed at
// once; a share is one of these nodes.
type LabelLimit struct {
	Label string      `json:"label"` // such as topology.kubernetes.io/zone
	Limit limit.Limit `json:"limit"` // a number, or a share such as 30%
}

func (r RolloutSpec) resolve() Rollout {
	out := Rollout{MaxParallel: *r.MaxParallel, Spread: r.Spread, Critical: orEmpty(r.Critical), MaxUnavailable: []LabelLimit{}}
	for _, label := range sortedKeys(r.MaxUnavailable) {
		out.MaxUnavailable = append(out.MaxUnavailable, LabelLimit{label, r.MaxUnavailable[label]})
	}
	return out
}

// CheckLabel returns an error when no node of the cluster has a label; it lists the labels
// that exist. Labels that only the API knows are unknown.
func (c *Cluster) CheckLabel(label string) error {
	known := map[string]bool{}
	for _, name := range c.NodeNames {
		for key := range c.Nodes[name].Labels {
			known[key] = true
		}
	}
	return checkLabel(label, known)
}

func checkLabel(label string, known map[string]bool) error {
	switch {
	case known[label]:
		return nil
	case len(known) == 0:
		return fmt.Errorf("no node has the label %q, and the inventory sets no labels: set labels of groups or hosts", label)
	}
	return fmt.Errorf("no node has the label %q: the labels are %s", label, strings.Join(sortedKeys(known), ", "))
}

// checkRollout refuses labels that no host has: limits by such a label would hold for all
// nodes together.
func (c *checker) checkRollout() {
	known := map[string]bool{}
	for _, h := range c.hosts {
		for key := range h.Labels {
			known[key] = true
		}
	}
	check := func(key, label string) {
		if err := checkLabel(label, known); err != nil {
			c.add("unknown-label", key, "%v", err)
		}
	}
	for _, label := range sortedKeys(c.spec.Rollout.MaxUnavailable) {
		check("cluster.rollout.max_unavailable", label)
	}
	if spread := c.spec.Rollout.Spread; spread != "" {
		check("cluster.rollout.spread", spread)
	}
}
